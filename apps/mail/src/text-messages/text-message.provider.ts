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

/** Who carries text messages to phones. @template Credentials what it must know of the application */
export interface TextMessageProvider<Credentials> {
  /**
   * Resolves once the message is with the provider.
   * @throws DeliveryRefused where it will never take it; anything else means: try this one again later. No error's message holds
   * the number, the text, or a secret: it is kept.
   */
  send(message: TextMessage, credentials: Credentials): Promise<void>;
}
