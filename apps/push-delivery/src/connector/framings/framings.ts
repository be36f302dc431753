import type { Framing } from './framing.js';
import { gatepostFraming } from './gatepost.framing.js';
import { jsonFraming } from './json.framing.js';
import { base64Framing, protobufFraming } from './protobuf.framing.js';

/** By the sub-protocol that a client offers. */
const FRAMINGS: ReadonlyMap<string, Framing> = new Map([
  ['gatepost.push.v1', gatepostFraming],
  ['lc.protobuf2.3', protobufFraming],
  ['lc.protobuf2.1', protobufFraming],
  ['lc.proto2base64.3', base64Framing],
  ['lc.proto2base64.1', base64Framing],
]);

/** What framings are called in metrics. */
export const FRAMING_NAMES = [...new Set([jsonFraming, ...FRAMINGS.values()].map(({ name }) => name))];

/** The first offered sub-protocol that we speak. Clients insist on hearing its name again. */
export function chooseProtocol(offered: Iterable<string>): string | undefined {
  for (const name of offered) if (FRAMINGS.has(name)) return name;
  return undefined;
}

/** The framing of a sub-protocol; JSON where there is none. */
export function framingOf(protocol: string): Framing {
  return FRAMINGS.get(protocol) ?? jsonFraming;
}
