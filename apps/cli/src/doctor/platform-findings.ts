import {
  type identitiesRpc,
  isUnionIdEntryName,
  platformFields,
  type PlatformKind,
  type RpcReply,
  type ShownCredentials,
} from '#contracts';
import { usageOf } from '../commands/credential-fields.js';
import type { Finding } from './check.js';

type UsedPlatform = RpcReply<typeof identitiesRpc.count>['platforms'][number];
interface KnownPlatform extends UsedPlatform {
  readonly kind: PlatformKind;
}

interface PlatformUse {
  readonly id: string;
  readonly isVerificationRequired: boolean;
  readonly credentials: readonly ShownCredentials[];
  readonly used: readonly UsedPlatform[];
}

/** What is wrong with an application's use of platforms. Those that nobody can verify are not looked at. */
export function platformFindings({ id, isVerificationRequired, credentials, used }: PlatformUse): Finding[] {
  const verifiable = new Map(credentials.map(({ platform, kind }) => [platform, kind]));
  const kindNamed = (key: string) => used.find(({ platform, kind }) => platform === key && kind !== undefined)?.kind;
  const known = used.flatMap((use) => {
    // Accounts that came before the operator named the kind of their key have none, nor those whose client left it out.
    const kind = use.kind ?? verifiable.get(use.platform) ?? kindNamed(use.platform);
    // The account that carries a union id is counted itself.
    return kind === undefined || isUnionIdEntryName(use.platform) ? [] : [{ ...use, kind }];
  });
  const isVerifiable = ({ platform, kind }: KnownPlatform) => verifiable.has(platform) || verifiable.has(kind);
  const findings = known.flatMap((use) => (isVerifiable(use) ? unverifiedAccounts(use) : [noCredentials(id, use)]));
  if (credentials.length > 0 && !isVerificationRequired) findings.push(notRequired(id));
  return findings;
}

function noCredentials(id: string, { platform, kind, verified, unverified }: KnownPlatform): Finding {
  const option = platform === kind ? '' : ` --kind ${kind}`;
  return {
    problem: `${accounts(verified + unverified, platform)} in use, and the application has no credentials to verify them: whoever knows the id of an account can say it is his.`,
    remedy: `npm run gatepost -- platforms set ${id} ${platform} ${usageOf(platformFields(kind))}${option}`,
  };
}

function unverifiedAccounts({ platform, unverified }: KnownPlatform): Finding[] {
  if (unverified === 0) return [];
  const problem = `${accounts(unverified, platform)} linked to users without ${platform} ever having confirmed it: they may be other people's.`;
  return [{ problem, remedy: 'An account counts as verified as soon as its owner logs in with it.' }];
}

function notRequired(id: string): Finding {
  return {
    problem: 'There are credentials of platforms, but accounts of platforms without any are accepted unverified.',
    remedy: `npm run gatepost -- apps set ${id} requireVerifiedPlatforms true`,
  };
}

function accounts(count: number, platform: string): string {
  return count === 1 ? `1 account of ${platform} is` : `${count} accounts of ${platform} are`;
}
