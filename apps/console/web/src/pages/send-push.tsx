import { Button, Stack } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, MAX_DEVICES_WITHOUT_PROOF } from '#console-api';
import { useAct, useApp, useTimeZone } from '../api/queries';
import { Confirm } from '../parts/dialogs';
import { Copyable } from '../parts/panel';
import { useFormats } from '../texts/format';
import { useTexts } from '../texts/texts';
import { commandOf, requestIdOf } from './new-push.rules';

/** For many devices the number is typed; where it is unknown, the application. */
function typedFor(count: number | undefined, appId: string): { readonly typed?: string } {
  if (count === undefined) return { typed: appId };
  return count > MAX_DEVICES_WITHOUT_PROOF ? { typed: String(count) } : {};
}

type Body = Record<string, unknown>;

interface SendProps {
  readonly draftId: string;
  readonly body: Body | undefined;
  readonly isCounting: boolean;
  /** Undefined where the devices could not be counted. */
  readonly count: number | undefined;
  readonly onSent: () => void;
}

/** Sends with a request id of the draft and the body: a second press sends no second push, a corrected push is another. */
export function SendButton({ draftId, body, isCounting, count, onSent }: SendProps): ReactNode {
  const { appId } = useApp();
  const navigate = useNavigate();
  const send = useAct(consoleApi.sendPush);
  const [asked, setAsked] = useState<Body>();
  const { button, ...question } = useQuestion((asked ?? body)?.['push_time'], count);
  const command = body && commandOf(appId, body);
  // Devices that come until the time of a scheduled push get it, too.
  const reachesNone = count === 0 && body?.['push_time'] === undefined;
  return (
    <Stack gap="sm" align="flex-start">
      <Button
        variant="filled"
        size="sm"
        disabled={body === undefined || isCounting || reachesNone}
        onClick={() => setAsked(body)}
      >
        {button}
      </Button>
      {command !== undefined && <Copyable value={command} />}
      {asked !== undefined && (
        <Confirm
          {...question}
          {...typedFor(count, appId)}
          onConfirm={async () => {
            const { objectId } = await send.mutateAsync({
              params: { appId },
              body: { body: { ...asked, req_id: requestIdOf(draftId, asked) } },
            });
            onSent();
            await navigate({ to: '/apps/$appId/pushes/$pushId', params: { appId, pushId: objectId } });
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Stack>
  );
}

/** @param at the time of a scheduled push @returns the button, and the title and the text of its dialog */
function useQuestion(at: unknown, count: number | undefined) {
  const { newPush: t } = useTexts();
  const { number, time } = useFormats();
  const zone = useZoneName();
  const audience = count === undefined ? undefined : t.devices(count, number(count), true);
  if (typeof at === 'string') {
    const due = `${time(at)} (${zone})`;
    return { button: t.scheduleFor(due), title: t.schedule, says: t.scheduleSays(due, audience) };
  }
  const button = count === undefined ? t.send : t.sendTo(count, number(count));
  return { button, title: t.send, says: t.sendSays(audience ?? t.allMatching) };
}

export function useZoneName(): string {
  return useTimeZone() ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
}
