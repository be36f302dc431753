import { Sealer } from './sealer.js';

interface Revealable {
  reveal(): string;
}

/** The sealer of a process that has these settings. */
export function sealerOf({
  secret,
  acceptedSecrets,
}: {
  readonly secret: Revealable;
  readonly acceptedSecrets: readonly Revealable[];
}): Sealer {
  return new Sealer(
    secret.reveal(),
    acceptedSecrets.map((one) => one.reveal()),
  );
}
