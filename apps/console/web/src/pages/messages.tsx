import { Badge, Button, Group, Text, TextInput } from '@mantine/core';
import { Link, useLocation, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useCallback } from 'react';
import { consoleApi, type Message, MESSAGE_STATUSES } from '#console-api';
import type { CallInput } from '../api/call';
import { useAct, useMay, useRead, useTimeZone } from '../api/queries';
import { ActButton } from '../parts/dialogs';
import { ExportMenu } from '../parts/export-menu';
import { Choice, DayFilters, filtersOf, onText, useTyped } from '../parts/fields';
import { momentsOf } from '../parts/moments.rules';
import { Answer, Empty, Failure, Page, Panel } from '../parts/panel';
import { keptState, List } from '../table/data-table';
import { useFormats, useNow, When } from '../texts/format';
import { useTexts } from '../texts/texts';

const FROM = '/frame/apps/$appId/messages';
const EVERY_MS = 3_000;
const COLORS: Readonly<Record<Message['status'], string>> = {
  queued: 'link',
  failed: 'warning',
  sent: 'good',
  dead: 'bad',
  dropped: 'gray',
};

export function MessagesPage(): ReactNode {
  const t = useTexts();
  const { appId } = useParams({ from: FROM });
  const search = useSearch({ from: FROM });
  const { user, after, since, until, ...chosen } = search;
  const timeZone = useTimeZone();
  const navigate = useNavigate({ from: '/apps/$appId/messages' });
  const may = useMay(appId);
  const recipient = useRecipient();
  const change = (part: Partial<typeof search>) =>
    void navigate({ search: (old) => ({ ...old, ...part, after: undefined }), state: keptState });
  const filter = filtersOf(search, change);
  const filters = {
    ...chosen,
    ...momentsOf({ since, until }, timeZone),
    userId: user,
    recipient: recipient.shown === '' ? undefined : recipient.shown,
  };
  return (
    <Page
      title={t.pages.messages}
      acts={
        <>
          <RetryAllButton appId={appId} />
          {may('messages.export') && (
            <ExportMenu
              route={consoleApi.exportMessages}
              inputOf={(format) => ({ params: { appId }, query: { ...filters, format } })}
            />
          )}
        </>
      }
    >
      <Panel>
        <Group gap="xs" align="flex-end">
          {may('users.contact') && (
            <TextInput
              label={t.messages.recipient}
              size="xs"
              type="search"
              value={recipient.text}
              onChange={onText(recipient.type)}
              onBlur={recipient.send}
            />
          )}
          <Choice
            label={t.messages.status}
            options={MESSAGE_STATUSES.map((value) => ({ value, label: t.messages.statuses[value] }))}
            {...filter('status')}
          />
          <Choice
            label={t.messages.channel}
            options={(['mail', 'sms'] as const).map((value) => ({ value, label: t.messages.channels[value] }))}
            {...filter('channel')}
          />
          <Choice
            label={t.messages.kind}
            options={Object.entries(t.messages.kinds).map(([value, label]) => ({ value, label }))}
            {...filter('kind')}
          />
          <DayFilters filter={filter} />
        </Group>
        <MessageList appId={appId} query={{ ...filters, after }} hasPager />
      </Panel>
    </Page>
  );
}

/** An address stands in the history of this tab, and in no URL. */
function useRecipient() {
  const navigate = useNavigate({ from: '/apps/$appId/messages' });
  const shown = useLocation({ select: ({ state }) => state.text ?? '' });
  const store = useCallback(
    (text: string) => {
      const state = keptState({ text: text.trim() === '' ? undefined : text });
      void navigate({ search: (old) => ({ ...old, after: undefined }), state: () => state, replace: true });
    },
    [navigate],
  );
  return { ...useTyped(shown, store), shown: shown.trim() };
}

function RetryAllButton({ appId }: { readonly appId: string }): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const may = useMay(appId);
  const query = { status: 'dead', limit: 1, counts: true } as const;
  const { data } = useRead(consoleApi.listMessages, { params: { appId }, query });
  if (data === undefined || data.items.length === 0 || !may('messages.retry')) return null;
  const { byStatus, isExact } = data.counts ?? { byStatus: {}, isExact: false };
  const title = t.messages.retryAll(t.common.about(number(byStatus.dead ?? 1), isExact));
  return (
    <ActButton
      title={title}
      says={t.messages.retryAllSays}
      button={t.messages.retry}
      route={consoleApi.retryDeadMessages}
      input={{ params: { appId } }}
      done={({ retried }) => t.messages.retried(number(retried))}
    />
  );
}

interface MessageListProps {
  readonly appId: string;
  readonly query: NonNullable<CallInput<typeof consoleApi.listMessages>['query']>;
  readonly hasPager?: boolean;
}

/** Mails and text messages, newest first; a change of their state appears by itself. */
export function MessageList({ appId, query, hasPager = false }: MessageListProps): ReactNode {
  const t = useTexts();
  const messages = useRead(consoleApi.listMessages, { params: { appId }, query }, { everyMs: EVERY_MS });
  const kinds: Readonly<Record<string, string | undefined>> = t.messages.kinds;
  return (
    <List
      label={t.pages.messages}
      of={messages}
      idOf={({ id }) => id}
      empty={<Empty title={t.messages.none} says={t.messages.noneSays} />}
      {...(hasPager ? { page: query } : {})}
      columns={[
        {
          header: t.messages.recipient,
          cell: ({ id, recipient }) => (
            <Link to="/apps/$appId/messages/$messageId" params={{ appId, messageId: id }}>
              <bdi>{recipient}</bdi>
            </Link>
          ),
        },
        { header: t.messages.status, cell: ({ status }) => <MessageStatus status={status} /> },
        { header: t.messages.kind, from: 'sm', cell: ({ kind }) => kinds[kind] ?? kind },
        {
          header: t.messages.answer,
          from: 'md',
          cell: ({ lastError }) => <bdi className="wrap">{lastError ?? '–'}</bdi>,
        },
        { header: t.messages.attempts, from: 'lg', isNumber: true, cell: ({ attempts }) => attempts },
        { header: t.common.createdAt, from: 'sm', cell: ({ createdAt }) => <When at={createdAt} /> },
      ]}
    />
  );
}

function MessageStatus({ status }: Pick<Message, 'status'>): ReactNode {
  const t = useTexts();
  return <Badge color={COLORS[status]}>{t.messages.statuses[status]}</Badge>;
}

export function MessagePage(): ReactNode {
  const t = useTexts();
  const { appId, messageId } = useParams({ from: '/frame/apps/$appId/messages/$messageId' });
  const answer = useRead(consoleApi.getMessage, { params: { appId, messageId } }, { everyMs: EVERY_MS });
  return (
    <Page title={t.messages.one}>
      <Link to="/apps/$appId/messages" params={{ appId }}>
        {t.messages.back}
      </Link>
      <Answer of={answer}>
        {({ message, history }) => (
          <>
            <MessageState appId={appId} message={message} />
            <Panel title={t.messages.attempts}>
              {history.length === 0 ? (
                <Text size="sm">{t.messages.noAttempts}</Text>
              ) : (
                <ul className="list">
                  {history.map(({ at, error }) => (
                    <li key={at}>
                      <When at={at} /> · <bdi lang="en">{error ?? t.messages.accepted}</bdi>
                    </li>
                  ))}
                </ul>
              )}
            </Panel>
          </>
        )}
      </Answer>
    </Page>
  );
}

function MessageState({ appId, message }: { readonly appId: string; readonly message: Message }): ReactNode {
  const t = useTexts();
  const may = useMay(appId);
  const formats = useFormats();
  const retry = useAct(consoleApi.retryMessage);
  const isExpired = Date.parse(message.expiresAt) <= useNow();
  const kinds: Readonly<Record<string, string | undefined>> = t.messages.kinds;
  return (
    <Panel title={kinds[message.kind] ?? message.kind}>
      <Group gap="sm" fz="sm" role="status" aria-live="polite">
        <MessageStatus status={message.status} />
        <bdi>{message.recipient}</bdi>
        <span>{t.messages.channels[message.channel]}</span>
      </Group>
      {message.lastError !== null && (
        <Text size="sm">
          {t.messages.serverSays} <bdi lang="en">{message.lastError}</bdi>
        </Text>
      )}
      <Text size="sm" c="dimmed">
        {t.messages.times(formats.time(message.createdAt), formats.time(message.expiresAt))}
        {message.nextAttemptAt !== null &&
          message.status !== 'sent' &&
          t.messages.nextAt(formats.time(message.nextAttemptAt))}
      </Text>
      <Failure error={retry.error} />
      <Group gap="xs">
        {message.status === 'dead' && !isExpired && may('messages.retry') && (
          <Button loading={retry.isPending} onClick={() => retry.mutate({ params: { appId, messageId: message.id } })}>
            {t.messages.retry}
          </Button>
        )}
        {message.userId !== null && (
          <Link to="/apps/$appId/users/$userId" params={{ appId, userId: message.userId }}>
            {t.messages.openUser}
          </Link>
        )}
      </Group>
    </Panel>
  );
}
