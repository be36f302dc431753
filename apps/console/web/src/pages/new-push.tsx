import { Button, Group, NativeSelect, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, type PushDetails, type RouteReply } from '#console-api';
import { knownOperator, useApp, useRead, useTimeZone } from '../api/queries';
import { ConditionBuilder } from '../parts/condition-builder';
import { NoJson, onText, optionsOf, Segments } from '../parts/fields';
import { isPast } from '../parts/moments.rules';
import { Answer, CodeBlock, Empty, Page, Panel } from '../parts/panel';
import { orProblem } from '../parts/typed.rules';
import { RowLink } from '../table/data-table';
import { useFormats, useNow, useTexts } from '../texts/texts';
import {
  DEVICE_TYPES,
  type Draft,
  draftOf,
  INSTALLATION_FIELDS,
  type MessageTexts,
  newDraft,
  pushBodyOf,
} from './new-push.rules';
import { SendButton, useZoneName } from './send-push';
import { TestPushButton } from './test-devices';

const TYPING_MS = 400;
const COUNT_EVERY_MS = 15_000;
const FROM = '/frame/apps/$appId/pushes/new';

type Change = (part: Partial<Draft>) => void;

interface StepProps {
  readonly draft: Draft;
  readonly change: Change;
}

/** A message for certain device types only, which have texts of their own, has no common title. */
const isComplete = ({ title, alert, texts, more, when, at }: Draft): boolean =>
  [alert, more, ...(title.trim() === '' ? Object.values(texts).map((own) => own.alert) : [])].some(
    (text) => text.trim() !== '',
  ) &&
  (when === 'now' || at !== '');

/** The server sets the audience of a test push, which is sent at once. The body is undefined while the draft has no text. */
function testBodyOf(draft: Draft) {
  const test: Draft = { ...draft, audience: 'all', when: 'now' };
  const { value, problem } = orProblem(() => pushBodyOf(test, undefined));
  return { body: isComplete(test) ? value : undefined, problem };
}

interface FormProps extends StepProps {
  /** The draft once its typing has paused. */
  readonly settled: Draft;
  readonly forget: () => void;
}

/** The URL names a push that is sent again. */
export function NewPushPage(): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const { from } = useSearch({ from: FROM });
  return (
    <Page title={t.pushes.create} back={{ to: `/apps/${appId}/pushes`, text: t.pushes.back }}>
      {from === undefined ? <DraftForm /> : <AgainForm key={from} pushId={from} />}
    </Page>
  );
}

function AgainForm({ pushId }: { readonly pushId: string }): ReactNode {
  const { appId } = useApp();
  const answer = useRead(consoleApi.getPush, { params: { appId, pushId } });
  return <Answer of={answer}>{({ push }) => <DraftForm again={push} />}</Answer>;
}

function DraftForm({ again }: { readonly again?: PushDetails }): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const { discard, ...form } = useDraft(`${appId} ${again?.objectId ?? ''}`, () =>
    again ? draftOf(again) : newDraft(),
  );
  const [settled] = useDebouncedValue(form.draft, TYPING_MS);
  if (!may('pushes.test')) return <Empty title={t.states.denied} />;
  const Form = may('pushes.send') ? PushForm : TestForm;
  return (
    <>
      <Form settled={settled} {...form} />
      {discard !== undefined && (
        <Group>
          <Button onClick={discard}>{t.acts.discard}</Button>
        </Group>
      )}
    </>
  );
}

/** A draft stays in its tab until it is sent or discarded. `discard`: undefined while nothing is typed. */
function useDraft(name: string, first: () => Draft) {
  const key = `gatepost-push ${knownOperator()?.id ?? ''} ${name}`;
  const [initial, setInitial] = useState(first);
  const [kept, setKept] = useState(() => storedDraft(key));
  const draft = kept ?? initial;
  const change: Change = (part) => {
    const changed = { ...draft, ...part };
    sessionStorage.setItem(key, JSON.stringify(changed));
    setKept(changed);
  };
  const forget = () => sessionStorage.removeItem(key);
  const discard = () => {
    forget();
    setInitial(first);
    setKept(undefined);
  };
  return { draft, change, forget, discard: kept && discard };
}

function storedDraft(key: string): Draft | undefined {
  const text = sessionStorage.getItem(key);
  return text === null ? undefined : { ...newDraft(), ...(JSON.parse(text) as Partial<Draft>) };
}

function PushForm({ draft, settled, change, forget }: FormProps): ReactNode {
  const { appId } = useApp();
  const t = useTexts();
  const [timeZone, now] = [useTimeZone(), useNow()];
  // The server would send the push at once.
  const isLate = settled.when === 'later' && isPast(settled.at, timeZone, now);
  const { value: body, problem } = orProblem(() => pushBodyOf(settled, timeZone));
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
            {(audience) => <Audience audience={audience} />}
          </Answer>
        )}
      </Panel>
      <Panel title={t.newPush.what}>
        <What draft={draft} change={change} />
        {complete !== undefined && <Preview body={complete} />}
      </Panel>
      <Panel title={t.newPush.when}>
        <Times draft={draft} change={change} isLate={isLate} />
        <TestPushButton body={ready(testBodyOf(settled).body)} />
        <SendButton
          draftId={draft.id}
          body={ready(isLate ? undefined : complete)}
          onSent={forget}
          isCounting={count.isPending || count.isPlaceholderData}
          audience={count.isError ? undefined : count.data}
        />
      </Panel>
    </>
  );
}

/** For operators whose pushes go to their own test devices only. */
function TestForm({ draft, settled, change }: FormProps): ReactNode {
  const t = useTexts();
  const { body, problem } = testBodyOf(settled);
  return (
    <Panel title={t.newPush.what}>
      <What draft={draft} change={change} />
      {problem !== undefined && <NoJson problem={problem} />}
      {body !== undefined && <Preview body={body} />}
      <TestPushButton body={draft === settled ? body : undefined} />
    </Panel>
  );
}

type TextField = 'at' | 'channels' | 'devices' | 'expiresAfterHours' | 'pace';

function fieldsOf({ draft, change }: StepProps) {
  return (name: TextField) => ({ value: draft[name], onChange: onText((text) => change({ [name]: text })) });
}

function Who({ draft, change }: StepProps): ReactNode {
  const t = useTexts();
  const fieldOf = fieldsOf({ draft, change });
  return (
    <Stack gap="sm">
      <Segments
        label={t.newPush.who}
        value={draft.audience}
        options={optionsOf(t.newPush.audiences)}
        onChange={(audience) => change({ audience })}
      />
      {draft.audience === 'channels' && (
        <TextInput label={t.newPush.audiences.channels} description={t.newPush.channelsSays} {...fieldOf('channels')} />
      )}
      {draft.audience === 'devices' && (
        <Textarea
          label={t.newPush.ids}
          description={t.newPush.idsSay}
          rows={4}
          className="code"
          {...fieldOf('devices')}
        />
      )}
      {draft.audience === 'where' && (
        <ConditionBuilder
          value={draft.condition}
          fields={INSTALLATION_FIELDS}
          onChange={(condition) => change({ condition })}
        />
      )}
    </Stack>
  );
}

function Audience({ audience }: { readonly audience: RouteReply<typeof consoleApi.countPushTargets> }): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const { appId, may } = useApp();
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
      <Text>
        <strong data-audience={total}>{t.newPush.devices(total, number(total), isExact)}</strong>{' '}
        {Object.entries(platforms)
          .map(([platform, { targeted }]) => `${platform} ${number(targeted)}`)
          .join(' · ')}
      </Text>
      {left.map((each) => (
        <Text key={each} c="dimmed">
          {each}
        </Text>
      ))}
      {may('devices.read') && sample.length > 0 && (
        <Group gap="xs" fz="sm">
          <span>{t.newPush.sample}</span>
          {sample.map(({ objectId }) => (
            <RowLink key={objectId} to={`/apps/${appId}/devices/${objectId}`}>
              {objectId}
            </RowLink>
          ))}
        </Group>
      )}
    </Stack>
  );
}

/** Devices of a type may get texts of their own instead of the common ones. */
function What({ draft, change }: StepProps): ReactNode {
  const { newPush: t } = useTexts();
  const [type, setType] = useState('');
  const own = type === '' ? draft : (draft.texts[type] ?? { title: '', alert: '' });
  const set = (part: Partial<MessageTexts>) => {
    const { title, alert } = { ...own, ...part };
    change(type === '' ? part : { texts: { ...draft.texts, [type]: { title, alert } } });
  };
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Stack gap="sm">
        <NativeSelect
          label={t.forType}
          value={type}
          data={[{ value: '', label: t.everyDevice }, ...DEVICE_TYPES]}
          onChange={onText(setType)}
        />
        <TextInput label={t.title} value={own.title} onChange={onText((title) => set({ title }))} />
        <Textarea
          label={t.text}
          required={type === '' && !isComplete({ ...draft, alert: '', when: 'now' })}
          rows={3}
          value={own.alert}
          onChange={onText((alert) => set({ alert }))}
        />
      </Stack>
      <Textarea
        label={t.more}
        description={t.moreSays}
        rows={7}
        className="code"
        value={draft.more}
        onChange={onText((more) => change({ more }))}
      />
    </SimpleGrid>
  );
}

function Preview({ body }: { readonly body: Record<string, unknown> }): ReactNode {
  const { appId } = useApp();
  const t = useTexts();
  const { number } = useFormats();
  const preview = useRead(consoleApi.previewPush, { params: { appId }, body: { body } });
  return (
    <Answer of={preview} lines={3}>
      {({ bodies, bytes, maxBytes, problem }) => (
        <Stack gap="xs">
          <Text {...(bytes > maxBytes ? { c: 'bad' } : { c: 'dimmed' })}>
            {t.newPush.bytes(number(bytes), number(maxBytes))}
          </Text>
          {problem !== null && (
            <Text c="bad" lang="en">
              {problem}
            </Text>
          )}
          <SimpleGrid cols={{ base: 1, md: Math.min(3, Math.max(1, Object.keys(bodies).length)) }}>
            {Object.entries(bodies).map(([platform, text]) => (
              <Stack key={platform} gap={2}>
                <Text fw={600}>{platform === 'default' ? t.newPush.everyDevice : platform}</Text>
                <CodeBlock>{text}</CodeBlock>
              </Stack>
            ))}
          </SimpleGrid>
        </Stack>
      )}
    </Answer>
  );
}

function Times({ draft, change, isLate }: StepProps & { readonly isLate: boolean }): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const timeZone = useZoneName();
  const fieldOf = fieldsOf({ draft, change });
  return (
    <Group gap="lg" align="flex-end">
      <Segments
        label={t.newPush.when}
        value={draft.when}
        options={optionsOf(t.newPush.moments)}
        onChange={(when) => change({ when })}
      />
      {draft.when === 'later' && (
        <TextInput
          label={t.newPush.at(timeZone)}
          type="datetime-local"
          error={isLate && t.newPush.past}
          {...fieldOf('at')}
        />
      )}
      <NativeSelect
        label={t.newPush.expires}
        {...fieldOf('expiresAfterHours')}
        data={choicesOf(['1', '6', '24', '72'], draft.expiresAfterHours, t.newPush.byDefault, t.newPush.hours)}
      />
      <NativeSelect
        label={t.newPush.pace}
        {...fieldOf('pace')}
        data={choicesOf(['1000', '5000', '20000'], draft.pace, t.newPush.noPace, (pace) =>
          t.newPush.perSecond(number(pace)),
        )}
      />
      {draft.isDevelopment && <Text>{t.newPush.development}</Text>}
    </Group>
  );
}

function choicesOf(values: readonly string[], own: string, none: string, labelOf: (value: number) => string) {
  const all = new Set(['', ...values, own]);
  return [...all].map((value) => ({ value, label: value === '' ? none : labelOf(Number(value)) }));
}
