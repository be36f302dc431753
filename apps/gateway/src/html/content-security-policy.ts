import { createHash } from 'node:crypto';

/** Where the forms of a page lead to. */
type FormTarget = "'none'" | "'self'";

/** The policy of a page that runs no script and loads nothing; its one style is known by its hash. */
export function contentSecurityPolicy(style: string, formTarget: FormTarget): string {
  const hash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action ${formTarget}; frame-ancestors 'none'`;
}
