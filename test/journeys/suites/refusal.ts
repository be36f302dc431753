import { expect } from 'vitest';
import type { ApiReply, CommandOutcome } from '#testing';

/** Status and code of a refusal. */
export async function refusal(reply: Promise<ApiReply>): Promise<unknown[]> {
  const { status, body } = await reply;
  return [status, body['code']];
}

/** Expects that a command did nothing, and said why in one line. */
export function expectRefused({ status, stdout, stderr }: CommandOutcome, reason: RegExp): void {
  expect([status, stdout, stderr.trim().split('\n').length]).toEqual([1, '', 1]);
  expect(stderr).toMatch(reason);
}
