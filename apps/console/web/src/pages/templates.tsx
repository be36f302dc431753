import { Badge, Button, Group, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, type RouteReply, TEMPLATE_KINDS } from '#console-api';
import { useAct, useMay, useRead } from '../api/queries';
import { ActButton, useNotices } from '../parts/dialogs';
import { onText, Segments, typedSince } from '../parts/fields';
import { MailPreview } from '../parts/mail-preview';
import { Answer, Empty, Failure, Page, Panel } from '../parts/panel';
import { List } from '../table/data-table';
import { useTexts } from '../texts/texts';
import { History } from './audit';

const TYPING_MS = 400;
type Template = RouteReply<typeof consoleApi.getTemplate>['template'];
type Parts = Partial<Pick<Template, 'subject' | 'html' | 'text'>>;

export function TemplatesPage(): ReactNode {
  const t = useTexts();
  const { appId } = useParams({ from: '/frame/apps/$appId/templates' });
  const navigate = useNavigate();
  const [language, setLanguage] = useState('');
  const templates = useRead(consoleApi.listTemplates, { params: { appId } });
  return (
    <Page title={t.pages.templates}>
      <Panel>
        <List
          label={t.pages.templates}
          of={templates}
          idOf={({ kind, language: tag }) => `${kind} ${tag}`}
          empty={<Empty title={t.templates.none} />}
          columns={[
            {
              header: t.messages.kind,
              cell: ({ kind, language: tag }) => (
                <Link to="/apps/$appId/templates/$kind/$language" params={{ appId, kind, language: tag }}>
                  {t.messages.kinds[kind]}
                </Link>
              ),
            },
            { header: t.templates.language, cell: ({ language: tag }) => tag },
            {
              header: t.templates.origin,
              cell: ({ isOwn }) => (
                <Badge color={isOwn ? 'link' : 'gray'}>{isOwn ? t.templates.own : t.templates.builtIn}</Badge>
              ),
            },
          ]}
        />
        <Group gap="xs" align="flex-end">
          <TextInput
            label={t.templates.otherLanguage}
            placeholder="fr"
            value={language}
            onChange={onText(setLanguage)}
          />
          {TEMPLATE_KINDS.map((kind) => (
            <Button
              key={kind}
              variant="default"
              disabled={!/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}$/.test(language)}
              onClick={() =>
                void navigate({ to: '/apps/$appId/templates/$kind/$language', params: { appId, kind, language } })
              }
            >
              {t.messages.kinds[kind]}
            </Button>
          ))}
        </Group>
      </Panel>
    </Page>
  );
}

export function TemplatePage(): ReactNode {
  const t = useTexts();
  const { appId, kind, language } = useParams({ from: '/frame/apps/$appId/templates/$kind/$language' });
  const known = TEMPLATE_KINDS.find((each) => each === kind);
  if (known === undefined) return <Empty title={t.states.noPage} />;
  return <KnownTemplate key={`${kind} ${language}`} appId={appId} kind={known} language={language} />;
}

interface TemplateProps {
  readonly appId: string;
  readonly kind: (typeof TEMPLATE_KINDS)[number];
  readonly language: string;
}

function partsOf({ subject, html, text }: Template): Required<Parts> {
  return { subject, html, text };
}

/** Whether the template is the application's own one of this language; else the text is a built-in one, or that of another language. */
function isOwnIn(language: string, template: Template): boolean {
  return template.isOwn && template.language.toLowerCase() === language.toLowerCase();
}

function KnownTemplate(params: TemplateProps): ReactNode {
  const t = useTexts();
  const { appId, kind, language } = params;
  const answer = useRead(consoleApi.getTemplate, { params: { appId, kind, language } });
  return (
    <Page title={`${t.messages.kinds[kind]} · ${language}`}>
      <Group fz="sm">
        <Link to="/apps/$appId/templates" params={{ appId }}>
          {t.templates.back}
        </Link>
        {answer.data !== undefined && <OriginBadge language={language} template={answer.data.template} />}
      </Group>
      <Answer of={answer} lines={12}>
        {({ template }) => <Editor params={params} template={template} />}
      </Answer>
      <History query={{ appId, target: `${kind} ${language}` }} />
    </Page>
  );
}

function OriginBadge({ language, template }: { readonly language: string; readonly template: Template }): ReactNode {
  const t = useTexts();
  if (isOwnIn(language, template)) return <Badge color="link">{t.templates.own}</Badge>;
  return <Badge color="gray">{template.isOwn ? t.templates.from(template.language) : t.templates.builtIn}</Badge>;
}

interface EditorProps {
  readonly params: TemplateProps;
  readonly template: Template;
}

function Editor({ params, template }: EditorProps): ReactNode {
  const t = useTexts();
  const may = useMay(params.appId);
  const [typed, setTyped] = useState<Parts>({});
  const [shown, setShown] = useState<'html' | 'text'>('html');
  const [settled] = useDebouncedValue(typed, TYPING_MS);
  const preview = useRead(consoleApi.previewTemplate, { params, body: settled });
  const fieldOf = (name: keyof Parts) => ({
    value: typed[name] ?? template[name],
    readOnly: !may('templates.write'),
    onChange: onText((value) => setTyped((old) => ({ ...old, [name]: value }))),
  });
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Panel title={t.templates.source}>
        <TextInput label={t.templates.subject} {...fieldOf('subject')} />
        <Segments
          label={t.templates.part}
          value={shown}
          options={[
            { value: 'html', label: t.templates.html },
            { value: 'text', label: t.templates.text },
          ]}
          onChange={setShown}
        />
        <Textarea label={t.templates[shown]} rows={18} className="code" {...fieldOf(shown)} />
        <TemplateActs
          params={params}
          template={template}
          typed={typed}
          clear={(sent = typed) => setTyped((now) => typedSince(now, sent))}
        />
      </Panel>
      <Panel title={t.templates.preview}>
        <Answer of={preview} lines={10}>
          {({ mail }) => (
            <Stack gap="xs">
              <strong>{mail.subject}</strong>
              {shown === 'html' ? <MailPreview html={mail.html} /> : <pre className="wrap mail-text">{mail.text}</pre>}
            </Stack>
          )}
        </Answer>
      </Panel>
    </SimpleGrid>
  );
}

interface ActsProps extends EditorProps {
  readonly typed: Parts;
  /** @param sent what was saved; a value that was typed since stays. Default: all. */
  readonly clear: (sent?: Parts) => void;
}

function TemplateActs({ params, template, typed, clear }: ActsProps): ReactNode {
  const t = useTexts();
  const may = useMay(params.appId);
  const notices = useNotices();
  const save = useAct(consoleApi.setTemplate);
  const reset = useAct(consoleApi.resetTemplate);
  const test = useAct(consoleApi.sendTestMail);
  const isOwnHere = isOwnIn(params.language, template);
  if (!may('templates.write')) return null;
  const store = async () => {
    const shown = partsOf(template);
    const saved = await save.mutateAsync({ params, body: { ...typed, former: shown } });
    const former = partsOf(saved.template);
    notices.undoable(t.acts.saved, () =>
      isOwnHere
        ? save.mutateAsync({ params, body: { ...shown, former } })
        : reset.mutateAsync({ params, body: { former } }),
    );
    clear(typed);
  };
  const sendTest = async () => {
    const { recipient } = await test.mutateAsync({ params, body: typed });
    notices.done(t.user.sentTo(recipient));
  };
  const isChanged = Object.keys(typed).length > 0;
  return (
    <Stack gap="xs">
      <Failure error={save.error} />
      <Failure error={test.error} />
      <Group gap="xs">
        <Button disabled={!isChanged} loading={save.isPending} onClick={() => void store().catch(() => undefined)}>
          {t.acts.save}
        </Button>
        <Button variant="default" loading={test.isPending} onClick={() => void sendTest().catch(() => undefined)}>
          {t.templates.test}
        </Button>
        {isChanged && (
          <Button variant="default" data-unsaved onClick={() => clear()}>
            {t.acts.discard}
          </Button>
        )}
        {isOwnHere && (
          <ActButton
            title={t.templates.reset}
            says={t.templates.resetSays}
            route={consoleApi.resetTemplate}
            input={{ params }}
            then={clear}
          />
        )}
      </Group>
    </Stack>
  );
}
