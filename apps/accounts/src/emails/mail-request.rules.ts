import { type ApplicationSettings, MAX_LANGUAGES, type MailKind } from '#contracts';

/** The application's own page for a kind of link, where it has one. */
export function pageUrlOf(
  kind: MailKind,
  { verifyEmailPage, resetPasswordPage }: Pick<ApplicationSettings, 'verifyEmailPage' | 'resetPasswordPage'>,
): string | null {
  const url = kind === 'verifyEmail' ? verifyEmailPage : resetPasswordPage;
  return url === '' ? null : url;
}

/** The languages that somebody reads, and behind them that of the application. */
export function languagesOf(
  wanted: readonly string[],
  { mailLanguage }: Pick<ApplicationSettings, 'mailLanguage'>,
): string[] {
  return [...new Set([...wanted.slice(0, MAX_LANGUAGES - 1), mailLanguage])];
}
