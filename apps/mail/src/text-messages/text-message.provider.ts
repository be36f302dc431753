import type { TextMessageOptions } from '#contracts';

/** A text message, ready to be sent. */
export interface TextMessage extends Pick<TextMessageOptions, 'smsType' | 'template' | 'sign' | 'variables'> {
  /** The same for every attempt to send it. */
  readonly id: string;
  readonly appId: string;
  /** The phone number, in international format. */
  readonly to: string;
  readonly text: string;
  /** The code that stands in the text, for providers that fill templates of their own. */
  readonly code: string;
}

/** Who carries text messages to phones. */
export abstract class TextMessageProvider {
  /** Resolves once the message is with the provider. A rejected promise means: try again later. */
  abstract send(message: TextMessage): Promise<void>;
}
