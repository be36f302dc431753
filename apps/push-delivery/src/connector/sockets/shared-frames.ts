import type { Framing } from '../framings/framing.js';
import type { DeliveredMessage, ServerFrame } from '../framings/server-frame.js';
import { webSocketFrame } from '../framings/websocket-frame.js';

/** Frames of single messages, for as long as somebody holds the message. */
const shared = new WeakMap<DeliveredMessage, Map<Framing, Buffer>>();

/** A frame as it goes over the wire. What many devices get is made once. @returns undefined where the framing has no word for it */
export function wireFrame(framing: Framing, frame: ServerFrame): Buffer | undefined {
  if (frame.kind !== 'data' || frame.messages.length !== 1) return newFrame(framing, frame);
  const [message] = frame.messages;
  return message && sharedFrame(framing, message);
}

function sharedFrame(framing: Framing, message: DeliveredMessage): Buffer | undefined {
  const frames = shared.get(message) ?? new Map<Framing, Buffer>();
  const made = frames.get(framing) ?? newFrame(framing, { kind: 'data', messages: [message] });
  if (made !== undefined) shared.set(message, frames.set(framing, made));
  return made;
}

function newFrame(framing: Framing, frame: ServerFrame): Buffer | undefined {
  const payload = framing.write(frame);
  return payload === undefined ? undefined : webSocketFrame(payload, framing.isBinary);
}
