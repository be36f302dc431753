import {
  NativeSelect,
  type NativeSelectProps,
  PasswordInput,
  type PasswordInputProps,
  Text,
  TextInput,
  type TextInputProps,
} from '@mantine/core';
import { useDebouncedCallback, useHotkeys } from '@mantine/hooks';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { MIN_PASSWORD_LENGTH } from '#console-api';
import { CallError } from '../api/call';
import { keptState } from '../table/data-table';
import { type Texts, useTexts } from '../texts/texts';
import { Bdi } from './panel';

export function onText(apply: (text: string) => void): (event: { readonly currentTarget: { value: string } }) => void {
  return ({ currentTarget: { value } }) => apply(value);
}

/** Whether the password was right, and a code is needed as well. */
export function asksForCode(error: Error | null): boolean {
  return error instanceof CallError && error.name === 'SECOND_FACTOR_REQUIRED';
}

export function passwordMistake({ access }: Texts, password: string): string | null {
  return password.length < MIN_PASSWORD_LENGTH ? access.passwordTooShort(MIN_PASSWORD_LENGTH) : null;
}

export function PasswordField(props: PasswordInputProps): ReactNode {
  const { access } = useTexts();
  return <PasswordInput visibilityToggleButtonProps={{ 'aria-label': access.showPassword }} {...props} />;
}

export function NewPasswordField(props: PasswordInputProps): ReactNode {
  const { access: t } = useTexts();
  const rule = t.passwordRule(MIN_PASSWORD_LENGTH);
  return <PasswordField label={t.newPassword} description={rule} autoComplete="new-password" {...props} />;
}

export function AddressField(props: TextInputProps): ReactNode {
  return <TextInput label={useTexts().access.address} type="email" autoComplete="username" {...props} />;
}

export function CodeField(props: TextInputProps): ReactNode {
  const t = useTexts();
  return (
    <TextInput
      label={t.factors.code}
      description={t.factors.codeSays}
      autoComplete="one-time-code"
      spellCheck={false}
      autoFocus
      data-autofocus
      {...props}
    />
  );
}

/** A text that has to be a JSON object is none. */
export function NoJson({ problem }: { readonly problem: string }): ReactNode {
  const t = useTexts();
  return (
    <Text c="bad" role="alert">
      {t.newPush.noJson} <Bdi lang="en">{problem}</Bdi>
    </Text>
  );
}

/** The text of a value, else the value itself, which a newer server can answer. */
export function nameIn(texts: Readonly<Record<string, string>>, value: string): string {
  return (texts as Readonly<Record<string, string | undefined>>)[value] ?? value;
}

type Options<Value extends string> = readonly { readonly value: Value; readonly label: string }[];

/** @returns the values of a choice in the order of their texts */
export function optionsOf<Value extends string>(texts: Readonly<Record<Value, string>>): Options<Value> {
  return Object.entries<string>(texts).map(([value, label]) => ({ value: value as Value, label }));
}

interface ChoiceProps<Value extends string> extends Pick<NativeSelectProps, 'maw'> {
  readonly label: string;
  readonly value: Value | undefined;
  readonly options: Options<Value>;
  readonly onChange: (value: Value | undefined) => void;
}

export function Choice<Value extends string>({ value, options, onChange, ...props }: ChoiceProps<Value>): ReactNode {
  const { common } = useTexts();
  return (
    <NativeSelect
      size="xs"
      value={value ?? ''}
      data={[{ value: '', label: common.any }, ...options]}
      onChange={onText((text) => onChange(options.find((each) => each.value === text)?.value))}
      {...props}
    />
  );
}

interface UrlTextProps extends Pick<
  TextInputProps,
  'className' | 'disabled' | 'label' | 'leftSection' | 'maw' | 'placeholder' | 'size' | 'type' | 'w'
> {
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
  /** Applied as it is typed, too; the key for searches leads to it. */
  readonly isLive?: boolean;
}

const TYPING_MS = 250;

/** A text or a date in the URL, applied by Enter and on leaving. A text of the URL, even a late one, replaces none that is being typed. */
export function UrlText({ value = '', onChange, isLive = false, ...props }: UrlTextProps): ReactNode {
  const field = useRef<HTMLInputElement>(null);
  const known = useRef(value);
  const typed = useRef(new Set<string>());
  // After a filter that the next navigation overtakes, the text of the URL is the one before.
  const place = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.state.__TSR_key });
  useEffect(() => {
    const input = field.current;
    if (input === null) return;
    const isTyping = input.value !== known.current || typed.current.has(value);
    if (input === document.activeElement && isTyping) return;
    input.value = value;
    known.current = value;
  }, [value, place]);
  const apply = (input: HTMLInputElement) => {
    known.current = input.value;
    const text = input.value.trim();
    if (isLive) typed.current.add(text);
    if (text !== value) onChange(text === '' ? undefined : text);
  };
  const soon = useDebouncedCallback(() => field.current && apply(field.current), TYPING_MS);
  const send = (input: HTMLInputElement) => {
    soon.cancel();
    apply(input);
  };
  useHotkeys(isLive ? [['mod+/', () => field.current?.focus()]] : []);
  return (
    <TextInput
      ref={field}
      size="xs"
      defaultValue={value}
      onChange={isLive ? soon : undefined}
      onFocus={() => typed.current.clear()}
      onBlur={(event) => send(event.currentTarget)}
      onKeyDown={(event) => {
        // Input methods, as for Chinese, end a composition by Enter.
        if (event.key === 'Enter' && !event.nativeEvent.isComposing) send(event.currentTarget);
      }}
      {...props}
    />
  );
}

interface UrlFilters<Search> {
  /** Leads to the first page of the list, and keeps what stands in the history. */
  readonly change: (part: Partial<Search>) => void;
  /** A filter that is stored in one member of the URL's search. */
  readonly filter: <Name extends keyof Search>(
    name: Name,
  ) => { readonly value: Search[Name]; readonly onChange: (value: Search[Name]) => void };
}

/** The filters of a list. @param search of the page's URL */
export function useUrlFilters<Search extends object>(search: Search): UrlFilters<Search> {
  const navigate = useNavigate();
  const change = (part: Partial<Search>) =>
    void navigate({
      to: '.',
      search: (old) => ({ ...old, ...part, after: undefined, open: undefined }),
      state: keptState,
    });
  const filter: UrlFilters<Search>['filter'] = (name) => ({
    value: search[name],
    onChange: (value) => change({ [name]: value } as unknown as Partial<Search>),
  });
  return { change, filter };
}

export type TextFilter = Pick<UrlTextProps, 'onChange' | 'value'>;

interface DayFiltersProps {
  readonly filter: (name: 'since' | 'until') => TextFilter;
  readonly labels?: { readonly since: string; readonly until: string };
}

export function DayFilters({ filter, labels }: DayFiltersProps): ReactNode {
  const { common } = useTexts();
  return (['since', 'until'] as const).map((name) => (
    <UrlText key={name} label={(labels ?? common)[name]} type="date" {...filter(name)} />
  ));
}

interface SegmentsProps<Value extends string> extends Pick<ChoiceProps<Value>, 'label' | 'options'> {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

/** One of few values, side by side. Mantine's control measures itself when it is drawn, which takes a slow processor 100 ms. */
export function Segments<Value extends string>({ label, value, options, onChange }: SegmentsProps<Value>): ReactNode {
  const name = useId();
  return (
    <div role="radiogroup" aria-label={label} className="segments">
      {options.map((option) => (
        <label key={option.value}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => onChange(option.value)} />
          <span>{option.label}</span>
        </label>
      ))}
    </div>
  );
}
