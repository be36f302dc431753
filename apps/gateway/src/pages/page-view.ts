import type { Markup } from '../html/markup.js';
import type { PageSign } from './page-signs.js';

/** A page as it is to be shown. */
export interface PageView {
  /** 200 unless given. */
  readonly status?: number;
  /** Sent as `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
  readonly sign: PageSign;
  /** Shown above everything, where it is known. */
  readonly applicationName?: string | null;
  readonly title: string;
  readonly content: Markup;
}
