import { type Service, SERVICES } from '../load/cluster.js';

/** The servers that services need. */
export const SERVERS = ['rabbitmq', 'redis', 'postgresql'] as const;
export type Server = (typeof SERVERS)[number];

/** A process or server that is killed without a warning. */
export interface PlannedFault {
  readonly target: Service | Server;
  /** How long after the beginning of a burst of requests. */
  readonly afterMs: number;
  /** For how long it stays away before it is started again. */
  readonly awayMs: number;
  /** Whether the next fault follows as soon as this target serves again: before everything is well. */
  readonly isFollowed: boolean;
}

/** The planned faults, generated from the seed. */
export interface Plan {
  /** Each process of every service, and each server as often. */
  readonly inTurn: readonly PlannedFault[];
  readonly atRandom: readonly PlannedFault[];
}

/** Of each service. */
export const REPLICAS = 2;
/** By then a burst is through. */
const LONGEST_AFTER_MS = 500;
const LONGEST_AWAY_MS = 4_000;
/** One in so many. */
const FOLLOWED = 3;
/** More are planned than there will be time for. */
const QUICKEST_RECOVERY_SECONDS = 3;

/** The plan of a seed: the same at every call. */
export function planOf(seed: number, seconds: number): Plan {
  const random = randomOf(seed);
  const times = () => ({
    afterMs: Math.floor(random() * LONGEST_AFTER_MS),
    awayMs: Math.floor(random() * LONGEST_AWAY_MS),
  });
  const targets = [...SERVICES, ...SERVERS];
  const inTurn = shuffled(Array.from({ length: REPLICAS }, () => targets).flat(), random).map((target) => ({
    target,
    ...times(),
    isFollowed: false,
  }));
  const atRandom = Array.from({ length: Math.ceil(seconds / QUICKEST_RECOVERY_SECONDS) }, () => ({
    target: targets[Math.floor(random() * targets.length)]!,
    ...times(),
    isFollowed: random() < 1 / FOLLOWED,
  }));
  return { inTurn, atRandom };
}

/** The faults in one line. */
export function describePlan(faults: readonly PlannedFault[]): string {
  return faults
    .map(({ target, afterMs, awayMs, isFollowed }) => `${target} ${afterMs}/${awayMs} ms${isFollowed ? ' +' : ','}`)
    .join(' ');
}

function shuffled<T>(all: readonly T[], random: () => number): T[] {
  const rest = [...all];
  return all.map(() => rest.splice(Math.floor(random() * rest.length), 1)[0]!);
}

/** Mulberry32: numbers from 0 to 1 that depend on the seed alone. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
