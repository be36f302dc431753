import type { ShownDelivery } from '#contracts';
import { quoted } from '../terminal.js';
import type { Finding } from './check.js';

/** Whoever waits for a mail has given up by then. */
const LONG_MS = 10 * 60_000;

/** Single recipients that refuse are no concern of an operator; messages that wait are. */
export function deliveryFindings(appId: string, waiting: readonly ShownDelivery[], now: Date): Finding[] {
  const late = waiting.filter(({ createdAt }) => now.getTime() - Date.parse(createdAt) > LONG_MS);
  if (late.length === 0) return [];
  const subject = late.length === 1 ? 'mail or text message has' : 'mails or text messages have';
  const error = late.find(({ lastError }) => lastError !== null)?.lastError ?? 'nothing was tried yet';
  return [
    {
      problem: `${late.length} ${subject} been waiting for over 10 minutes: ${quoted(error)}.`,
      remedy: `npm run gatepost -- mails list --app ${appId}`,
    },
  ];
}
