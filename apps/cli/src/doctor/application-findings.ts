import type { Application } from '#contracts';
import type { Finding } from './check.js';

/** Those that we make have 24 characters. */
const SHORT_KEY = 16;
const FEW_CHARACTERS = 6;

/** What an application's keys and settings leave open. @param isProduction whether others than its makers use it */
export function applicationFindings({ id, masterKey, settings }: Application, isProduction: boolean): Finding[] {
  const findings: Finding[] = [];
  if (masterKey.length < SHORT_KEY || new Set(masterKey).size < FEW_CHARACTERS)
    findings.push({
      problem: 'The master key can be guessed, and opens everything.',
      remedy: `npm run gatepost -- apps rotate-keys ${id} --master-key --keep-old 1h`,
    });
  if (!isProduction) return findings;
  if (settings.allowClientPush)
    findings.push({
      problem: 'Every client may send pushes to everyone.',
      remedy: `npm run gatepost -- apps set ${id} allowClientPush false`,
      isAdvice: true,
    });
  const off = (['verifyEmailOnSignUp', 'quietProfile', 'hideContact'] as const).filter((name) => !settings[name]);
  if (off.length > 0)
    findings.push({
      problem: `Off: ${off.join(', ')}.`,
      remedy: 'docs/security.md, "Before you go public", says what for.',
      isAdvice: true,
    });
  return findings;
}
