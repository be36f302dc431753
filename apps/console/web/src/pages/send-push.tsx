import { Stack } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, MAX_DEVICES_WITHOUT_PROOF, type RouteReply } from '#console-api';
import { useAct, useApp, useTimeZone } from '../api/queries';
import { Confirm, DialogButton } from '../parts/dialogs';
import { Copyable } from '../parts/panel';
import { useFormats, useTexts } from '../texts/texts';
import { commandOf, requestIdOf } from './new-push.rules';

type Audience = Pick<RouteReply<typeof consoleApi.countPushTargets>, 'isExact' | 'total'>;

/** For many devices the number is typed; where it is unknown, the application. */
function typedFor(audience: Audience | undefined, appId: string): { readonly typed?: string } {
  if (audience === undefined) return { typed: appId };
  return audience.total > MAX_DEVICES_WITHOUT_PROOF ? { typed: String(audience.total) } : {};
}

interface SendProps {
  readonly draftId: string;
  readonly body: Record<string, unknown> | undefined;
  /** Undefined where the devices could not be counted. */
  readonly audience: Audience | undefined;
  readonly onSent: () => void;
}

export function SendButton({ isCounting, ...push }: SendProps & { readonly isCounting: boolean }): ReactNode {
  const { body, audience } = push;
  const { appId } = useApp();
  const { button } = useQuestion(push);
  const command = body && commandOf(appId, body);
  // Devices that come until the time of a scheduled push get it, too.
  const reachesNone = audience?.total === 0 && body?.['push_time'] === undefined;
  return (
    <Stack gap="sm" align="flex-start">
      <DialogButton
        text={button}
        size="sm"
        disabled={body === undefined || isCounting || reachesNone}
        dialog={<SendDialog {...push} />}
      />
      {command !== undefined && <Copyable value={command} />}
    </Stack>
  );
}

/**
 * Sends with a request id of the draft and the body: a second press sends no second push, a corrected push is another. What the operator
 * confirms stays as it was shown, also where the devices are counted again.
 */
function SendDialog({ draftId, onSent, ...push }: SendProps): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const navigate = useNavigate();
  const send = useAct(consoleApi.sendPush);
  const shown = useShownAudience();
  const [asked] = useState(push);
  const { title, says } = useQuestion(asked);
  const now = shown(push.audience);
  const isChanged = now !== undefined && now !== shown(asked.audience);
  return (
    <Confirm
      title={title}
      says={
        <>
          {says} <strong role="status">{isChanged && t.newPush.countChanged(now)}</strong>
        </>
      }
      {...typedFor(asked.audience, appId)}
      onConfirm={async () => {
        const body = { ...asked.body, req_id: requestIdOf(draftId, asked.body ?? {}) };
        const { objectId } = await send.mutateAsync({ params: { appId }, body: { body } });
        onSent();
        await navigate({ to: '/apps/$appId/pushes/$pushId', params: { appId, pushId: objectId } });
      }}
    />
  );
}

function useShownAudience() {
  const { newPush: t } = useTexts();
  const { number } = useFormats();
  return (audience?: Audience) => audience && t.devices(audience.total, number(audience.total), audience.isExact);
}

/** @returns the button, and the title and the text of its dialog */
function useQuestion({ body, audience: counted }: Pick<SendProps, 'audience' | 'body'>) {
  const { newPush: t } = useTexts();
  const { number, time } = useFormats();
  const zone = useZoneName();
  const audience = useShownAudience()(counted);
  const at = body?.['push_time'];
  if (typeof at === 'string') {
    const due = `${time(at)} (${zone})`;
    return { button: t.scheduleFor(due), title: t.schedule, says: t.scheduleSays(due, audience) };
  }
  const button = counted === undefined ? t.send : t.sendTo(counted.total, number(counted.total));
  return { button, title: t.send, says: t.sendSays(audience ?? t.allMatching) };
}

export function useZoneName(): string {
  return useTimeZone() ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
}
