import type { TextMessageOptions } from '#contracts';

/** What a queued text message is made of: sealed while it waits. */
export interface TextMessageContent extends Pick<TextMessageOptions, 'smsType' | 'template' | 'sign' | 'variables'> {
  readonly text: string;
  readonly code: string;
}
