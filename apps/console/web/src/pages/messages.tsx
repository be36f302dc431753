import { Badge, Group, Text } from '@mantine/core';
import { useLocation, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi, type Message } from '#console-api';
import type { CallInput } from '../api/call';
import { useApp, useRead, useTimeZone } from '../api/queries';
import { ActButton } from '../parts/dialogs';
import { Choice, DayFilters, nameIn, optionsOf, UrlText, useUrlFilters } from '../parts/fields';
import { ExportMenu, SavedViews } from '../parts/list-menus';
import { momentsOf } from '../parts/moments.rules';
import { Answer, Bdi, Empty, Page, Panel } from '../parts/panel';
import { keptState, List, RowLink } from '../table/data-table';
import { useFormats, useNow, useTexts, When } from '../texts/texts';

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
  const { may } = useApp();
  const search = useSearch({ from: FROM });
  const { user, after, since, until, ...chosen } = search;
  const timeZone = useTimeZone();
  const recipient = useRecipient();
  const { filter } = useUrlFilters(search);
  const filters = { ...chosen, ...momentsOf({ since, until }, timeZone), userId: user, recipient: recipient.value };
  return (
    <Page
      title={t.pages.messages}
      acts={
        <>
          <RetryAllButton />
          <SavedViews page="messages" />
          <ExportMenu route={consoleApi.exportMessages} query={filters} />
        </>
      }
    >
      <Panel>
        <Group gap="xs" align="flex-end">
          {may('users.contact') && <UrlText label={t.messages.recipient} type="search" isLive {...recipient} />}
          <Choice label={t.messages.status} options={optionsOf(t.messages.statuses)} {...filter('status')} />
          <Choice label={t.messages.channel} options={optionsOf(t.messages.channels)} {...filter('channel')} />
          <Choice label={t.messages.kind} options={optionsOf<string>(t.messages.kinds)} {...filter('kind')} />
          <UrlText label={t.devices.user} {...filter('user')} />
          <DayFilters filter={filter} />
        </Group>
        <MessageList query={{ ...filters, after }} hasPager />
      </Panel>
    </Page>
  );
}

/** An address stands in the history of this tab, and in no URL. */
function useRecipient() {
  const navigate = useNavigate({ from: '/apps/$appId/messages' });
  const value = useLocation({ select: ({ state }) => state.text });
  const onChange = (text: string | undefined) =>
    void navigate({ search: (old) => ({ ...old, after: undefined }), state: () => keptState({ text }), replace: true });
  return { value, onChange };
}

function RetryAllButton(): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const { appId, may } = useApp();
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
  readonly query: NonNullable<CallInput<typeof consoleApi.listMessages>['query']>;
  readonly hasPager?: boolean;
}

export function MessageList({ query, hasPager = false }: MessageListProps): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const messages = useRead(consoleApi.listMessages, { params: { appId }, query }, { everyMs: EVERY_MS });
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
          cell: ({ id, recipient }) => <RowLink to={`/apps/${appId}/messages/${id}`}>{recipient}</RowLink>,
        },
        { header: t.messages.status, cell: ({ status }) => <MessageStatus status={status} /> },
        { header: t.messages.kind, from: 'sm', cell: ({ kind }) => nameIn(t.messages.kinds, kind) },
        {
          header: t.messages.answer,
          from: 'md',
          cell: ({ lastError }) => <Bdi className="wrap">{lastError ?? '–'}</Bdi>,
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
    <Page title={t.messages.one} of={answer} back={{ to: `/apps/${appId}/messages`, text: t.messages.back }}>
      <Answer of={answer}>
        {({ message, history }) => (
          <>
            <MessageState message={message} />
            <Panel title={t.messages.attempts}>
              {history.length === 0 ? (
                <Text>{t.messages.noAttempts}</Text>
              ) : (
                <ul className="list">
                  {history.map(({ at, error }) => (
                    <li key={at}>
                      <When at={at} isFull /> · <Bdi lang="en">{error ?? t.messages.accepted}</Bdi>
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

function MessageState({ message }: { readonly message: Message }): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const formats = useFormats();
  const isExpired = Date.parse(message.expiresAt) <= useNow();
  return (
    <Panel title={nameIn(t.messages.kinds, message.kind)}>
      <Group gap="sm" fz="sm" role="status" aria-live="polite">
        <MessageStatus status={message.status} />
        <Bdi>{message.recipient}</Bdi>
        <span>{t.messages.channels[message.channel]}</span>
      </Group>
      {message.lastError !== null && (
        <Text>
          {t.messages.serverSays} <Bdi lang="en">{message.lastError}</Bdi>
        </Text>
      )}
      <Text c="dimmed">
        {t.messages.times(formats.time(message.createdAt), formats.time(message.expiresAt))}
        {message.settledAt !== null && t.messages.settled(formats.time(message.settledAt))}
        {message.nextAttemptAt !== null &&
          message.status !== 'sent' &&
          t.messages.nextAt(formats.time(message.nextAttemptAt))}
      </Text>
      <Group gap="xs" fz="sm">
        {message.status === 'dead' && !isExpired && may('messages.retry') && (
          <ActButton
            text={t.messages.retry}
            route={consoleApi.retryMessage}
            input={{ params: { appId, messageId: message.id } }}
          />
        )}
        {message.userId !== null && <OfUser message={message} userId={message.userId} />}
      </Group>
    </Panel>
  );
}

const MAILS_AGAIN: Readonly<Record<string, 'sendPasswordReset' | 'sendVerification' | undefined>> = {
  verifyEmail: 'sendVerification',
  resetPassword: 'sendPasswordReset',
};

/** The user's address can be wrong: it is corrected, and a new mail goes to the new one. */
function OfUser({ message, userId }: { readonly message: Message; readonly userId: string }): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const again = message.status === 'dead' && may('users.write') ? MAILS_AGAIN[message.kind] : undefined;
  return (
    <>
      <RowLink to={`/apps/${appId}/users/${userId}`}>{t.messages.openUser}</RowLink>
      {again !== undefined && (
        <ActButton
          title={t.messages.again[again]}
          says={t.messages.againSays}
          button={t.acts.send}
          route={consoleApi[again]}
          input={{ params: { appId, userId } }}
          done={({ recipient }) => t.user.sentTo(recipient)}
        />
      )}
    </>
  );
}
