import { Button, Code, Group, NativeSelect, Radio, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, MAX_DEVICES_WITHOUT_PROOF, type RouteReply } from '#console-api';
import { useAct, useMay, useRead, useTimeZone } from '../api/queries';
import { ConditionBuilder } from '../parts/condition-builder';
import { Confirm } from '../parts/dialogs';
import { NoJson, onText } from '../parts/fields';
import { Answer, Copyable, Page, Panel } from '../parts/panel';
import { useFormats } from '../texts/format';
import { useTexts } from '../texts/texts';
import { commandOf, type Draft, EMPTY_DRAFT, INSTALLATION_FIELDS, pushBodyOf, requestIds } from './new-push.rules';
import { TestPushButton } from './test-devices';

const TYPING_MS = 400;
const COUNT_EVERY_MS = 15_000;

type Change = (part: Partial<Draft>) => void;

interface StepProps {
  readonly draft: Draft;
  readonly change: Change;
}

/** The body, undefined while it is not complete, or what is wrong with a JSON text. */
function bodyOrProblem(
  draft: Draft,
  timeZone: string | undefined,
): { readonly body?: Record<string, unknown> | undefined; readonly problem?: string } {
  try {
    return { body: pushBodyOf(draft, timeZone) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

const isComplete = (draft: Draft): boolean => draft.alert.trim() !== '' && (draft.when === 'now' || draft.at !== '');

/** The server sets the audience of a test push, which is sent at once. The body is undefined while the draft has no text. */
function testBodyOf(draft: Draft): ReturnType<typeof bodyOrProblem> {
  const test: Draft = { ...draft, audience: 'all', when: 'now' };
  const { body, ...problem } = bodyOrProblem(test, undefined);
  return isComplete(test) && body !== undefined ? { body } : problem;
}

interface FormProps extends StepProps {
  readonly appId: string;
  /** The draft once its typing has paused. */
  readonly settled: Draft;
}

export function NewPushPage(): ReactNode {
  const t = useTexts();
  const { appId } = useParams({ from: '/frame/apps/$appId/pushes/new' });
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const [settled] = useDebouncedValue(draft, TYPING_MS);
  const change: Change = (part) => {
    setDraft((old) => ({ ...old, ...part }));
  };
  const Form = useMay(appId)('pushes.send') ? PushForm : TestForm;
  return (
    <Page title={t.pushes.create}>
      <Link to="/apps/$appId/pushes" params={{ appId }}>
        {t.pushes.back}
      </Link>
      <Form appId={appId} draft={draft} settled={settled} change={change} />
    </Page>
  );
}

function PushForm({ appId, draft, settled, change }: FormProps): ReactNode {
  const t = useTexts();
  const { body, problem } = bodyOrProblem(settled, useTimeZone());
  const complete = isComplete(settled) ? body : undefined;
  const ready = (given: typeof body) => (draft === settled ? given : undefined);
  const count = useRead(
    consoleApi.countPushTargets,
    { params: { appId }, body: { body: body ?? {} } },
    { enabled: body !== undefined, everyMs: COUNT_EVERY_MS },
  );
  return (
    <>
      <Panel title={t.newPush.who}>
        <Who draft={draft} change={change} />
        {problem !== undefined && <NoJson problem={problem} />}
        {body !== undefined && (
          <Answer of={count} lines={1}>
            {(audience) => <Audience appId={appId} audience={audience} />}
          </Answer>
        )}
      </Panel>
      <Panel title={t.newPush.what}>
        <What draft={draft} change={change} />
        {complete !== undefined && <Preview appId={appId} body={complete} />}
      </Panel>
      <Panel title={t.newPush.when}>
        <Times draft={draft} change={change} />
        <TestPushButton appId={appId} body={ready(testBodyOf(settled).body)} />
        <SendButton
          appId={appId}
          body={ready(complete)}
          isCounting={count.isPending || count.isPlaceholderData}
          count={count.isError ? undefined : count.data?.total}
        />
      </Panel>
    </>
  );
}

/** For operators whose pushes go to their own test devices only. */
function TestForm({ appId, draft, settled, change }: FormProps): ReactNode {
  const t = useTexts();
  const { body, problem } = testBodyOf(settled);
  return (
    <Panel title={t.newPush.what}>
      <What draft={draft} change={change} />
      {problem !== undefined && <NoJson problem={problem} />}
      {body !== undefined && <Preview appId={appId} body={body} />}
      <TestPushButton appId={appId} body={draft === settled ? body : undefined} />
    </Panel>
  );
}

/** The properties by which an input shows and changes a text of the draft. */
function fieldOf(
  name: 'alert' | 'at' | 'channels' | 'expiresAfterHours' | 'more' | 'title',
  { draft, change }: StepProps,
) {
  return {
    value: draft[name],
    onChange: onText((text) => {
      change({ [name]: text });
    }),
  };
}

function Who({ draft, change }: StepProps): ReactNode {
  const t = useTexts();
  return (
    <Stack gap="sm">
      <Radio.Group
        aria-label={t.newPush.who}
        value={draft.audience}
        onChange={(audience) => {
          change({ audience });
        }}
      >
        <Group gap="lg">
          {(['all', 'channels', 'where'] as const).map((value) => (
            <Radio key={value} value={value} label={t.newPush.audiences[value]} />
          ))}
        </Group>
      </Radio.Group>
      {draft.audience === 'channels' && (
        <TextInput
          label={t.newPush.audiences.channels}
          description={t.newPush.channelsSays}
          {...fieldOf('channels', { draft, change })}
        />
      )}
      {draft.audience === 'where' && (
        <ConditionBuilder
          value={draft.condition}
          fields={INSTALLATION_FIELDS}
          onChange={(condition) => {
            change({ condition });
          }}
        />
      )}
    </Stack>
  );
}

interface AudienceProps {
  readonly appId: string;
  readonly audience: RouteReply<typeof consoleApi.countPushTargets>;
}

/** How many devices the push would reach now. */
function Audience({ appId, audience }: AudienceProps): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const mayRead = useMay(appId)('devices.read');
  const { total, isExact, platforms, leftOut, unreachable, sample } = audience;
  const away = Object.entries(platforms)
    .filter(([, counts]) => counts.unreachable > 0)
    .map(([platform, counts]) => `${platform} ${number(counts.unreachable)}`);
  const left = [
    leftOut === null && t.newPush.leftOutUnknown,
    leftOut !== null && leftOut.notSeen > 0 && t.newPush.notSeen(number(leftOut.notSeen)),
    leftOut !== null && leftOut.invalid > 0 && t.newPush.invalid(number(leftOut.invalid)),
    unreachable > 0 && t.newPush.unreachable(number(unreachable), away.join(' · ')),
  ].filter((each) => each !== false);
  return (
    <Stack gap={2} role="status">
      <Text size="sm">
        <strong data-audience={total}>{t.newPush.devices(total, number(total), isExact)}</strong>{' '}
        {Object.entries(platforms)
          .map(([platform, { targeted }]) => `${platform} ${number(targeted)}`)
          .join(' · ')}
      </Text>
      {left.map((each) => (
        <Text key={each} size="sm" c="dimmed">
          {each}
        </Text>
      ))}
      {mayRead && sample.length > 0 && (
        <Group gap="xs" fz="sm">
          <span>{t.newPush.sample}</span>
          {sample.map(({ objectId }) => (
            <Link key={objectId} to="/apps/$appId/devices/$deviceId" params={{ appId, deviceId: objectId }}>
              {objectId}
            </Link>
          ))}
        </Group>
      )}
    </Stack>
  );
}

function What({ draft, change }: StepProps): ReactNode {
  const t = useTexts();
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Stack gap="sm">
        <TextInput label={t.newPush.title} {...fieldOf('title', { draft, change })} />
        <Textarea label={t.newPush.text} required rows={3} {...fieldOf('alert', { draft, change })} />
      </Stack>
      <Textarea
        label={t.newPush.more}
        description={t.newPush.moreSays}
        rows={5}
        className="code"
        {...fieldOf('more', { draft, change })}
      />
    </SimpleGrid>
  );
}

function Preview({ appId, body }: { readonly appId: string; readonly body: Record<string, unknown> }): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const preview = useRead(consoleApi.previewPush, { params: { appId }, body: { body } });
  return (
    <Answer of={preview} lines={3}>
      {({ bodies, bytes, maxBytes, problem }) => (
        <Stack gap="xs">
          <Text size="sm" {...(bytes > maxBytes ? { c: 'bad' } : { c: 'dimmed' })}>
            {t.newPush.bytes(number(bytes), number(maxBytes))}
          </Text>
          {problem !== null && (
            <Text size="sm" c="bad" lang="en">
              {problem}
            </Text>
          )}
          <SimpleGrid cols={{ base: 1, md: Math.min(3, Math.max(1, Object.keys(bodies).length)) }}>
            {Object.entries(bodies).map(([platform, text]) => (
              <Stack key={platform} gap={2}>
                <Text size="sm" fw={600}>
                  {platform === 'default' ? t.newPush.everyDevice : platform}
                </Text>
                <Code block className="wrap">
                  {text}
                </Code>
              </Stack>
            ))}
          </SimpleGrid>
        </Stack>
      )}
    </Answer>
  );
}

function Times({ draft, change }: StepProps): ReactNode {
  const t = useTexts();
  const timeZone = useTimeZone() ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Group gap="lg" align="flex-end">
      <Radio.Group
        aria-label={t.newPush.when}
        value={draft.when}
        onChange={(when) => {
          change({ when });
        }}
      >
        <Group gap="lg" pb={8}>
          <Radio value="now" label={t.newPush.now} />
          <Radio value="later" label={t.newPush.later} />
        </Group>
      </Radio.Group>
      {draft.when === 'later' && (
        <TextInput label={t.newPush.at(timeZone)} type="datetime-local" {...fieldOf('at', { draft, change })} />
      )}
      <NativeSelect
        label={t.newPush.expires}
        {...fieldOf('expiresAfterHours', { draft, change })}
        data={['', '1', '6', '24', '72'].map((value) => ({
          value,
          label: value === '' ? t.newPush.byDefault : t.newPush.hours(Number(value)),
        }))}
      />
    </Group>
  );
}

/** For many devices the number is typed; where it is unknown, the application. */
function typedFor(count: number | undefined, appId: string): { readonly typed?: string } {
  if (count === undefined) return { typed: appId };
  return count > MAX_DEVICES_WITHOUT_PROOF ? { typed: String(count) } : {};
}

interface SendProps {
  readonly appId: string;
  readonly body: Record<string, unknown> | undefined;
  readonly isCounting: boolean;
  /** Undefined where the devices could not be counted. */
  readonly count: number | undefined;
}

/** Sends with a request id that was drawn for this form and body: a second press sends no second push, a corrected push is another. */
function SendButton({ appId, body, isCounting, count }: SendProps): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const navigate = useNavigate();
  const send = useAct(consoleApi.sendPush);
  const [requestIdOf] = useState(requestIds);
  const [isAsking, setAsking] = useState(false);
  // Devices that come until the time of a scheduled push get it, too.
  const reachesNone = count === 0 && body?.['push_time'] === undefined;
  return (
    <Stack gap="sm" align="flex-start">
      <Button
        size="sm"
        disabled={body === undefined || isCounting || reachesNone}
        onClick={() => {
          setAsking(true);
        }}
      >
        {count === undefined ? t.newPush.send : t.newPush.sendTo(count, number(count))}
      </Button>
      {body !== undefined && <Copyable value={commandOf(appId, body)} />}
      {isAsking && body !== undefined && (
        <Confirm
          title={t.newPush.send}
          says={count === undefined ? t.newPush.sendUncounted : t.newPush.sendSays(count, number(count))}
          button={t.newPush.send}
          {...typedFor(count, appId)}
          onConfirm={async () => {
            const { objectId } = await send.mutateAsync({
              params: { appId },
              body: { body: { ...body, req_id: requestIdOf(body) } },
            });
            await navigate({ to: '/apps/$appId/pushes/$pushId', params: { appId, pushId: objectId } });
          }}
          onClose={() => {
            setAsking(false);
          }}
        />
      )}
    </Stack>
  );
}
