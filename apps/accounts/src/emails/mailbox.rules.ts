/**
 * What addresses have in common that lead to one mailbox, as far as that is the same everywhere: capitals do not count in
 * practice, what follows a + in front of the @ is a note of the mailbox's owner, and a domain in another script has a form in
 * ASCII as well.
 */
export function mailboxOf(email: string): string {
  const [local = '', domain = ''] = email
    .normalize('NFKC')
    .toLowerCase()
    .split(/@(?=[^@]*$)/);
  const [name = ''] = local.split('+', 1);
  return `${name === '' ? local : name}@${asciiOf(domain)}`;
}

function asciiOf(domain: string): string {
  const url = `http://${domain}`;
  return URL.canParse(url) ? new URL(url).hostname : domain;
}
