import { Badge, Button, Checkbox, Group, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { consoleApi, type RouteReply, TEMPLATE_KINDS } from '#console-api';
import { useApp, useRead } from '../api/queries';
import { ActButton, useSave } from '../parts/dialogs';
import { onText, optionsOf, Segments } from '../parts/fields';
import { EditForm, useEdit } from '../parts/forms';
import { Answer, CodeBlock, Empty, Page, Panel } from '../parts/panel';
import { NotFound } from '../shell/frame';
import { List, RowLink } from '../table/data-table';
import { useTexts } from '../texts/texts';
import { History } from './audit';

const TYPING_MS = 400;
type Template = RouteReply<typeof consoleApi.getTemplate>['template'];
type Parts = Partial<Pick<Template, 'subject' | 'html' | 'text'>>;
/** One object: the preview waits for a change of it. */
const NOTHING_TYPED: Parts = {};

export function TemplatesPage(): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
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
                <RowLink to={`/apps/${appId}/templates/${kind}/${tag}`}>{t.messages.kinds[kind]}</RowLink>
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
  const { appId, kind, language } = useParams({ from: '/frame/apps/$appId/templates/$kind/$language' });
  const known = TEMPLATE_KINDS.find((each) => each === kind);
  if (known === undefined) return <NotFound />;
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
    <Page
      title={`${t.messages.kinds[kind]} · ${language}`}
      back={{ to: `/apps/${appId}/templates`, text: t.templates.back }}
      acts={answer.data && <OriginBadge language={language} template={answer.data.template} />}
    >
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
  const mayWrite = useApp().may('templates.write');
  const change = useSave(consoleApi.setTemplate);
  const edit = useEdit<Template, Parts>(template, partsOf);
  const typed = edit.typed ?? NOTHING_TYPED;
  const [shown, setShown] = useState<'html' | 'text'>('html');
  const [settled] = useDebouncedValue(typed, TYPING_MS);
  const preview = useRead(consoleApi.previewTemplate, { params, body: settled });
  const save = async (parts: Parts, on: Template) =>
    (await change.save({ params, body: { ...parts, former: partsOf(on) } })).template;
  const fieldOf = (name: keyof Parts) => ({
    value: typed[name] ?? edit.base[name],
    readOnly: !mayWrite,
    onChange: onText((value) => edit.type({ ...typed, [name]: value })),
  });
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Panel title={t.templates.source}>
        <EditForm
          edit={edit}
          save={save}
          theirs={<Changed base={edit.base} template={template} />}
          acts={mayWrite && <TemplateActs params={params} template={template} typed={typed} discard={edit.discard} />}
        >
          <TextInput label={t.templates.subject} {...fieldOf('subject')} />
          <Segments
            label={t.templates.part}
            value={shown}
            options={optionsOf({ html: t.templates.html, text: t.templates.text })}
            onChange={setShown}
          />
          <Textarea
            label={t.templates[shown]}
            description={t.templates.variables}
            rows={18}
            className="code"
            {...fieldOf(shown)}
          />
        </EditForm>
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

function Changed({ base, template }: { readonly base: Template; readonly template: Template }): ReactNode {
  const t = useTexts();
  return (['subject', 'html', 'text'] as const)
    .filter((name) => base[name] !== template[name])
    .map((name) => (
      <Stack key={name} gap={0}>
        {t.user.theirsIs(t.templates[name])}
        <CodeBlock>{template[name]}</CodeBlock>
      </Stack>
    ));
}

interface ActsProps extends EditorProps {
  readonly typed: Parts;
  readonly discard: () => void;
}

function TemplateActs({ params, template, typed, discard }: ActsProps): ReactNode {
  const t = useTexts();
  return (
    <>
      <ActButton
        text={t.templates.test}
        route={consoleApi.sendTestMail}
        input={{ params, body: typed }}
        done={({ recipient }) => t.user.sentTo(recipient)}
      />
      {isOwnIn(params.language, template) && (
        <ActButton
          title={t.templates.reset}
          says={t.templates.resetSays}
          route={consoleApi.resetTemplate}
          input={{ params, body: { former: partsOf(template) } }}
          then={discard}
        />
      )}
    </>
  );
}

/**
 * A mail as a reader sees it, in a frame without scripts, forms and links that lead anywhere. The policy of the page, which the frame
 * inherits, refuses inline styles of a parsed document; so styles are set by the object model, which it allows.
 */
function MailPreview({ html }: { readonly html: string }): ReactNode {
  const t = useTexts();
  const frame = useRef<HTMLIFrameElement>(null);
  const [isNarrow, setNarrow] = useState(false);
  const [isDark, setDark] = useState(false);
  useEffect(() => {
    const shown = frame.current?.contentDocument;
    if (shown !== null && shown !== undefined) show(html, shown, isDark ? 'dark' : 'light');
  }, [html, isDark]);
  const className = ['mail', ...(isNarrow ? ['narrow'] : []), ...(isDark ? ['dark'] : [])].join(' ');
  return (
    <>
      <Group gap="md">
        <Checkbox label={t.templates.phone} checked={isNarrow} onChange={() => setNarrow(!isNarrow)} />
        <Checkbox label={t.shell.themes.dark} checked={isDark} onChange={() => setDark(!isDark)} />
      </Group>
      {/* Without allow-scripts nothing in the frame can run; allow-same-origin lets this page fill it. */}
      <iframe ref={frame} title={t.templates.preview} sandbox="allow-same-origin" className={className} />
    </>
  );
}

const REMOVED = 'script, iframe, object, embed, base, link, meta, form, input, button';

function show(html: string, into: Document, scheme: 'dark' | 'light'): void {
  const parsed = new DOMParser().parseFromString(withoutStyles(html), 'text/html');
  for (const each of parsed.querySelectorAll(REMOVED)) each.remove();
  const sheets = [...parsed.querySelectorAll('textarea')].map((style) => {
    style.remove();
    return inScheme(style.value, scheme);
  });
  const body = copyOf(parsed.body, into);
  into.body.replaceWith(body);
  into.adoptedStyleSheets = sheetsOf(sheets, into);
  into.documentElement.style.setProperty('color-scheme', scheme, 'important');
}

/** The styles for a reader with this colour scheme, whatever that of the operator is. */
function inScheme(css: string, scheme: string): string {
  return css.replace(/\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)/gi, (_, asked: string) =>
    asked.toLowerCase() === scheme ? '(min-width: 0)' : '(max-width: 0)',
  );
}

/** A parser applies the policy too, and reports each style: so styles stand under other names while it works. */
function withoutStyles(html: string): string {
  return html.replace(/<[^<>]*>/g, (tag) =>
    tag.replace(/^<(\/?)(?:style|textarea)\b/i, '<$1textarea').replace(/\sstyle(?=\s*=)/gi, ' data-style'),
  );
}

function sheetsOf(texts: readonly string[], document: Document): CSSStyleSheet[] {
  const Sheet = document.defaultView?.CSSStyleSheet;
  if (Sheet === undefined) return [];
  return texts.map((text) => {
    const sheet = new Sheet();
    sheet.replaceSync(text);
    return sheet;
  });
}

/** A copy whose attributes are only those that a mail needs. */
function copyOf(element: Element, document: Document): HTMLElement {
  const copy = document.createElement(element.localName);
  for (const { name, value } of element.attributes) {
    if (name === 'data-style') copy.style.cssText = value;
    else if (isHarmless(name, value)) copy.setAttribute(name, value);
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.textContent ?? '');
    else if (child instanceof Element) copy.append(copyOf(child, document));
  }
  return copy;
}

const KEPT =
  /^(?:align|alt|bgcolor|border|cellpadding|cellspacing|class|colspan|dir|height|id|lang|role|rowspan|title|valign|width)$/;

function isHarmless(name: string, value: string): boolean {
  return KEPT.test(name) || (name === 'src' && value.startsWith('data:image/'));
}
