import { unique } from '#testing';
import { Possible } from './possible.js';

/** How many mails were asked for. */
interface Owed {
  least: number;
  most: number;
}

/** A user with an account, and the server's answers about it. */
export class LoadUser {
  readonly username = unique('user');
  readonly email = `${this.username}@example.com`;
  /** None where the sign-up was not answered: the user may be there or not. */
  id: string | undefined;
  /** The token of the latest answer. */
  session = '';
  readonly password = new Possible('correct horse');
  readonly score = new Possible(0);
  readonly note = new Possible(0);
  readonly isVerified = new Possible(false);
  readonly mails: Owed = { least: 0, most: 0 };
}
