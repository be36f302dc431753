import {
  ActionIcon,
  Alert,
  Badge,
  Button,
  Code,
  Group,
  Paper,
  Skeleton,
  Stack,
  Tabs,
  Text,
  Title,
  Tooltip,
} from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import type { UseQueryResult } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ComponentProps, type ReactNode, useDeferredValue, useState } from 'react';
import { CHANGED_SINCE } from '#console-api';
import { CallError } from '../api/call';
import { useFormats, useNow, useTexts } from '../texts/texts';
// Outlines of Tabler Icons 3 (https://tabler.io/icons), MIT licence, copyright 2020-2026 Paweł Kuna.
import OUTLINES from './icons.json';
import { visible } from './visible.rules';

interface PageProps {
  readonly title: ReactNode;
  /** The title of the browser's tab; needed where `title` is no text. */
  readonly name?: string;
  readonly acts?: ReactNode;
  /** The link to the list that holds the object of the page. */
  readonly back?: { readonly to: string; readonly text: string };
  /** The answer about the object of the page. Without the object there are no acts. */
  readonly of?: UseQueryResult;
  /** Stays where the object is gone. */
  readonly history?: ReactNode;
  readonly children: ReactNode;
}

/** Errors about an object that does not exist, or whose id is malformed. */
const MISSING: ReadonlySet<string | undefined> = new Set(['NOT_FOUND', 'USER_NOT_FOUND', 'INCORRECT_TYPE']);

/** A page: its heading takes the focus after a change of the page. */
export function Page(props: PageProps): ReactNode {
  const { title, name = typeof title === 'string' ? title : 'Gatepost', acts, back, of, history, children } = props;
  const { states: t } = useTexts();
  const { isThere, isMissing } = usePresence(of);
  return (
    <Stack gap="md" maw="84rem">
      <title>{`${visible(name)} · Gatepost`}</title>
      <Group justify="space-between" gap="sm">
        <Title order={1} tabIndex={-1} id="page-title">
          {typeof title === 'string' ? visible(title) : title}
        </Title>
        {isThere && acts !== undefined && <Group gap="xs">{acts}</Group>}
      </Group>
      {back !== undefined && <Link to={back.to}>{back.text}</Link>}
      {isMissing ? <Empty title={t.noObject} says={t.noPageSays} /> : children}
      {history}
    </Stack>
  );
}

/** Both are false until there is an answer. */
function usePresence(of: UseQueryResult | undefined): { readonly isThere: boolean; readonly isMissing: boolean } {
  const error = useLastError(of ?? NOT_ASKED);
  const isMissing = MISSING.has(error?.name);
  return { isThere: of === undefined || (of.data !== undefined && !isMissing), isMissing };
}

interface PanelProps {
  readonly title?: string;
  readonly acts?: ReactNode;
  readonly children: ReactNode;
}

export function Panel({ title, acts, children }: PanelProps): ReactNode {
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        {title !== undefined && (
          <Group justify="space-between" gap="xs">
            <Title order={2}>{title}</Title>
            {acts}
          </Group>
        )}
        {children}
      </Stack>
    </Paper>
  );
}

interface AnswerProps<Reply> {
  readonly of: UseQueryResult<Reply>;
  /** Lines of the skeleton that is shown until the first answer. */
  readonly lines?: number;
  readonly children: (reply: Reply) => ReactNode;
}

/** The answer to a query; before it a skeleton, after a failure its description. Older data stays, with the failure above it. */
export function Answer<Reply>({ of, lines = 6, children }: AnswerProps<Reply>): ReactNode {
  const { dataUpdatedAt, refetch } = of;
  const error = useLastError(of);
  // A long list is drawn in slices, between which a slow processor answers the operator.
  const data = useDeferredValue(of.data);
  return (
    <>
      <Failure error={error} again={() => void refetch()} answeredAt={dataUpdatedAt} />
      {data !== undefined && children(data)}
      {data === undefined && error === null && <Lines count={lines} />}
    </>
  );
}

type Asked = Pick<UseQueryResult, 'error' | 'errorUpdateCount' | 'isPending'>;
const NOT_ASKED: Asked = { error: null, errorUpdateCount: 0, isPending: false };

/** The error of a query, also while the page asks again without an answer so far. */
function useLastError({ error, isPending, errorUpdateCount }: Asked): Error | null {
  const [last, setLast] = useState(error);
  if (error !== null && error !== last) setLast(error);
  return isPending && errorUpdateCount > 0 ? last : error;
}

function Lines({ count }: { readonly count: number }): ReactNode {
  const t = useTexts();
  return (
    <Stack gap="sm" className="late" role="status" aria-label={t.states.loading}>
      {Array.from({ length: count }, (_, index) => (
        <Skeleton key={index} height={18} width={index % 3 === 2 ? '60%' : '100%'} animate={false} />
      ))}
    </Stack>
  );
}

interface FailureProps {
  readonly error: Error | null;
  readonly again?: () => void;
  /** The time of the last answer in milliseconds; 0: there was none. */
  readonly answeredAt?: number;
}

function Again({ error, again, answeredAt }: Required<FailureProps>): ReactNode {
  const { states: t } = useTexts();
  const { clock } = useFormats();
  return (
    <>
      {error instanceof CallError && error.isPassing && (
        <Text>{t.retries(answeredAt === 0 ? undefined : clock(new Date(answeredAt).toISOString()))}</Text>
      )}
      <Button onClick={again} leftSection={<Icon name="again" size={16} />}>
        {t.again}
      </Button>
    </>
  );
}

export function Failure({ error, again, answeredAt = 0 }: FailureProps): ReactNode {
  const t = useTexts();
  if (error === null) return null;
  const isDenied = error instanceof CallError && error.status === 403;
  return (
    <Alert
      color={isDenied ? 'warning' : 'bad'}
      icon={<Icon name={isDenied ? 'lock' : 'warning'} />}
      title={isDenied ? t.states.denied : t.states.failed}
      role="alert"
    >
      <Stack gap="xs" align="flex-start">
        <Text>
          <Problem error={error} />
        </Text>
        {error instanceof CallError && error.requestId !== undefined && (
          <Group gap={4}>
            <Text>{t.states.request}</Text>
            <Copyable value={error.requestId} />
          </Group>
        )}
        {again !== undefined && <Again error={error} again={again} answeredAt={answeredAt} />}
      </Stack>
    </Alert>
  );
}

interface ProblemText {
  readonly text: string;
  /** The message of the server, which the page cannot translate. */
  readonly detail?: string;
}

/** @returns what makes a sentence of an error in the operator's language */
export function useProblem(): (error: Error) => ProblemText {
  const t = useTexts();
  return (error) => {
    if (!(error instanceof CallError)) return { text: t.states.pageProblem };
    const { name, status, retryAfter, message } = error;
    const known = (t.problems as Readonly<Record<string, string | undefined>>)[name];
    if (status === 429 && retryAfter !== undefined) return { text: t.states.tooMany(Math.ceil(retryAfter / 60)) };
    // Many routes refuse an act that would have no effect, each with its own reason.
    const isOwn = name === 'NO_EFFECT' && message !== CHANGED_SINCE;
    if (message !== '' && (isOwn || known === undefined)) return { text: t.states.refused, detail: message };
    return { text: known ?? t.states.pageProblem, ...(name === 'FORBIDDEN' && { detail: message }) };
  };
}

/** The sentence of an error, for a missing permission with its name. */
export function Problem({ error }: { readonly error: Error }): ReactNode {
  const { text, detail } = useProblem()(error);
  return (
    <>
      {text} {detail !== undefined && <Bdi lang="en">{detail}</Bdi>}
    </>
  );
}

type BdiProps = Omit<ComponentProps<'bdi'>, 'children'> & { readonly children: string | null | undefined };

/** A text of another origin, such as a name: it turns no text beside it, and hides nothing. */
export function Bdi({ children, ...props }: BdiProps): ReactNode {
  return <bdi {...props}>{visible(children ?? '')}</bdi>;
}

interface EmptyProps {
  readonly title: string;
  readonly says?: string;
  readonly command?: string;
  readonly children?: ReactNode;
}

/** A list without items: what would be in it, and the first act. */
export function Empty({ title, says, command, children }: EmptyProps): ReactNode {
  return (
    <Stack align="center" gap="xs" py="xl" px="md">
      <Text size="md" fw={600}>
        {title}
      </Text>
      {says !== undefined && (
        <Text c="dimmed" ta="center" maw="36rem">
          {says}
        </Text>
      )}
      {children}
      {command !== undefined && <Copyable value={command} />}
    </Stack>
  );
}

export function CodeBlock({ children }: { readonly children: string }): ReactNode {
  return (
    <Code block className="wrap">
      {visible(children)}
    </Code>
  );
}

export function JsonBlock({ value }: { readonly value: unknown }): ReactNode {
  return <CodeBlock>{JSON.stringify(value, undefined, 2)}</CodeBlock>;
}

export function RemoveButton({ label, remove }: { readonly label: string; readonly remove: () => void }): ReactNode {
  return (
    <ActionIcon variant="subtle" color="gray" size={30} aria-label={label} onClick={remove}>
      <Icon name="close" size={16} />
    </ActionIcon>
  );
}

export function Copyable({ value }: { readonly value: string }): ReactNode {
  return (
    <Group gap={4} wrap="nowrap" maw="100%">
      <Code className="wrap">{visible(value)}</Code>
      <CopyButton value={value} />
    </Group>
  );
}

export function CopyButton({ value }: { readonly value: string }): ReactNode {
  const t = useTexts();
  const clipboard = useClipboard({ timeout: 1_500 });
  const label = clipboard.copied ? t.acts.copied : t.acts.copy;
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" aria-label={`${label}: ${value}`} onClick={() => clipboard.copy(value)}>
        <Icon name={clipboard.copied ? 'check' : 'copy'} size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

export type IconName = keyof typeof OUTLINES;

/** An outline that repeats what a text beside it says; screen readers skip it. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      viewBox="0 0 24 24"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={OUTLINES[name]} />
    </svg>
  );
}

interface CheckedProps {
  readonly value: string | null;
  readonly isVerified: boolean;
  readonly isNumber?: boolean;
}

/** An address or a number, and whether the user has proved it. */
export function Checked({ value, isVerified, isNumber = false }: CheckedProps): ReactNode {
  const t = useTexts();
  if (value === null) return '–';
  const state = isVerified ? t.users.isVerified : t.users.isNotVerified;
  return (
    <span className={isNumber ? 'checked unbroken' : 'checked'}>
      <Bdi>{value}</Bdi>
      <span role="img" aria-label={state} title={state} className={isVerified ? 'is-good' : 'is-quiet'}>
        <Icon name={isVerified ? 'check' : 'close'} size={14} />
      </span>
    </span>
  );
}

export function LockedBadge({ until }: { readonly until: string | null }): ReactNode {
  const t = useTexts();
  const { clock } = useFormats();
  const now = useNow();
  if (until === null || Date.parse(until) <= now) return null;
  return (
    <Badge color="bad" leftSection={<Icon name="lock" size={12} />}>
      {t.users.lockedUntilTime(clock(until))}
    </Badge>
  );
}

interface PageTabsProps<Tab extends string> {
  readonly labels: Readonly<Record<Tab, string>>;
  /** In their order. One that was shown keeps what is typed in it. */
  readonly panels: Readonly<Record<Tab, ReactNode>>;
}

/** The parts of a page. The URL names the shown one; without a name it is the first. */
export function PageTabs<Tab extends string>({ labels, panels }: PageTabsProps<Tab>): ReactNode {
  const tabs = Object.keys(panels) as Tab[];
  const navigate = useNavigate();
  const { tab } = useSearch({ strict: false });
  const [first = null] = tabs;
  const shown = tabs.find((each) => each === tab) ?? first;
  const [visited, setVisited] = useState([shown]);
  if (!visited.includes(shown)) setVisited([...visited, shown]);
  const open = (chosen: string | null) =>
    void navigate({ to: '.', search: (old) => ({ ...old, tab: chosen as typeof tab }) });
  return (
    <Tabs value={shown} onChange={open}>
      <Tabs.List mb="md" className="tabs">
        {tabs.map((each) => (
          <Tabs.Tab key={each} value={each}>
            {labels[each]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map((each) => (
        <Tabs.Panel key={each} value={each}>
          {visited.includes(each) && panels[each]}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
