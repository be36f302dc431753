import type {
  ConnectedDevice,
  ConnectOutcome,
  EnqueuedDevice,
  MessageRef,
  QueuePage,
  QueueTally,
} from './device-queues.js';

export type PageReply = [hasMore: number, dropped: number, members: string[]];
export type ConnectReply = [node: string | null, session: string | null, conflicts: number, ...page: PageReply];

const NOTHING: QueueTally = { enqueued: 0, acknowledged: 0, overflowed: 0 };

/** From the place, counted from one, and the node of each connected device. */
export function connectedFrom(
  reply: readonly (number | string)[],
  devices: readonly EnqueuedDevice[],
): ConnectedDevice[] {
  const found: ConnectedDevice[] = [];
  for (let index = 0; index < reply.length; index += 2) {
    const device = devices[Number(reply[index]) - 1];
    if (device === undefined) continue;
    const { installationId, platform } = device;
    found.push({ installationId, platform, node: String(reply[index + 1]) });
  }
  return found;
}

export function outcomeFrom([node, session, conflicts, ...page]: ConnectReply): ConnectOutcome {
  const previous = node === null || session === null ? undefined : { node, session };
  return { page: pageFrom(page), previous, conflicts };
}

export function pageFrom([hasMore, dropped, members]: PageReply): QueuePage {
  return { refs: members.map(refFrom), hasMore: hasMore === 1, dropped };
}

/** From `id expiry platform`. */
function refFrom(member: string): MessageRef {
  const [id = ''] = member.split(' ', 1);
  return { id, platform: member.slice(member.indexOf(' ', id.length + 1) + 1) };
}

/** Adds up what partitions say: names such as `enqueued:android`, each followed by its number. */
export function tallyFrom(replies: readonly (readonly string[])[]): Map<string, QueueTally> {
  const tallies = new Map<string, QueueTally>();
  for (const [name, value] of replies.flatMap(pairsOf)) {
    const [kind = ''] = name.split(':', 1);
    if (!isCounted(kind)) continue;
    const platform = name.slice(kind.length + 1);
    const tally = tallies.get(platform) ?? NOTHING;
    tallies.set(platform, { ...tally, [kind]: tally[kind] + Number(value) });
  }
  return tallies;
}

function pairsOf(reply: readonly string[]): [string, string][] {
  return Array.from({ length: reply.length / 2 }, (_, index) => [reply[index * 2] ?? '', reply[index * 2 + 1] ?? '']);
}

function isCounted(kind: string): kind is keyof QueueTally {
  return Object.hasOwn(NOTHING, kind);
}
