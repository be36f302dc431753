/** What an operator has to do before a call can go on: sign in again, or prove the identity. */
export type Gate = 'signIn' | 'proof';

type Open = (gate: Gate) => Promise<boolean>;

let open: Open | undefined;
const waiting = new Map<Gate, Promise<boolean>>();

/** Names the dialog that asks the operator. @returns what takes it away */
export function setGateDialog(dialog: Open): () => void {
  open = dialog;
  return () => {
    open = undefined;
  };
}

/** Asks the operator; calls that fail meanwhile wait for the same answer. @returns false where the operator has cancelled */
export async function passGate(gate: Gate): Promise<boolean> {
  if (open === undefined) return false;
  const answer = waiting.get(gate) ?? open(gate).finally(() => waiting.delete(gate));
  waiting.set(gate, answer);
  return answer;
}
