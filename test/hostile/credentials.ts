const APPLICATION = { 'x-lc-id': '$APP_ID', 'x-lc-key': '$APP_KEY' };
const OWN_MASTER = { 'x-lc-id': '$OWN_ID', 'x-lc-key': '$OWN_MASTER_KEY,master' };

/** The credentials of attackers. They are users of an application like all others, and own another application. */
export const CREDENTIALS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  none: {},
  'a wrong key': { 'x-lc-id': '$APP_ID', 'x-lc-key': 'wrong' },
  'application key': APPLICATION,
  signature: { 'x-lc-id': '$APP_ID', 'x-lc-sign': '$SIGN' },
  'own session': { ...APPLICATION, 'x-lc-session': '$SESSION_SELF' },
  "another user's session": { ...APPLICATION, 'x-lc-session': '$SESSION_OTHER' },
  'a dead session': { ...APPLICATION, 'x-lc-session': 'deaddeaddeaddeaddeaddead0' },
  'master key of an own application': OWN_MASTER,
  'a session of another application': { ...OWN_MASTER, 'x-lc-session': '$SESSION_SELF' },
  'the master key of another application': { 'x-lc-id': '$APP_ID', 'x-lc-key': '$OWN_MASTER_KEY,master' },
};
