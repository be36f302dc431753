import {
  NativeSelect,
  type NativeSelectProps,
  PasswordInput,
  type PasswordInputProps,
  Text,
  TextInput,
  type TextInputProps,
} from '@mantine/core';
import { useRouterState } from '@tanstack/react-router';
import { type ReactNode, useCallback, useEffect, useId, useRef, useState } from 'react';
import { MIN_PASSWORD_LENGTH } from '#console-api';
import { CallError } from '../api/call';
import { type Texts, useTexts } from '../texts/texts';

/** Passes on what a field holds. */
export function onText(apply: (text: string) => void): (event: { readonly currentTarget: { value: string } }) => void {
  return ({ currentTarget: { value } }) => apply(value);
}

/** Whether the password was right, and a code is needed as well. */
export function asksForCode(error: Error | null): boolean {
  return error instanceof CallError && error.name === 'SECOND_FACTOR_REQUIRED';
}

/** The mistake of a new password; null: none. */
export function passwordMistake({ access }: Texts, password: string): string | null {
  return password.length < MIN_PASSWORD_LENGTH ? access.passwordTooShort(MIN_PASSWORD_LENGTH) : null;
}

/** The typed values that differ from the saved ones: the operator typed them during the save. */
export function typedSince<Values extends object>(typed: Values, sent: Values): Partial<Values> {
  const kept = Object.entries(typed).filter(([name, value]) => value !== sent[name as keyof Values]);
  return Object.fromEntries(kept) as Partial<Values>;
}

export function PasswordField(props: PasswordInputProps): ReactNode {
  const { access } = useTexts();
  return <PasswordInput visibilityToggleButtonProps={{ 'aria-label': access.showPassword }} {...props} />;
}

/** A field for a one-time code or a recovery code. */
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
    <Text size="sm" c="bad" role="alert">
      {t.newPush.noJson} <bdi lang="en">{problem}</bdi>
    </Text>
  );
}

interface ChoiceProps<Value extends string> extends Pick<NativeSelectProps, 'maw'> {
  readonly label: string;
  /** Undefined: any. */
  readonly value: Value | undefined;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (value: Value | undefined) => void;
}

/** One of the values of a filter, or any. */
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

interface UrlTextProps extends Pick<TextInputProps, 'disabled' | 'label' | 'maw' | 'size' | 'type' | 'w'> {
  /** The text of the URL. */
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** A text or a date in the URL, applied by Enter and when its field is left. A text of the URL replaces all but what is being typed. */
export function UrlText({ value = '', onChange, ...props }: UrlTextProps): ReactNode {
  const field = useRef<HTMLInputElement>(null);
  const known = useRef(value);
  // After a filter that the next navigation overtakes, the text of the URL is the one before.
  const place = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.state.__TSR_key });
  useEffect(() => {
    const input = field.current;
    if (input === null || (input === document.activeElement && input.value !== known.current)) return;
    input.value = value;
    known.current = value;
  }, [value, place]);
  const apply = (input: HTMLInputElement) => {
    known.current = input.value;
    const text = input.value.trim();
    if (text !== value) onChange(text === '' ? undefined : text);
  };
  return (
    <TextInput
      ref={field}
      size="xs"
      defaultValue={value}
      onBlur={(event) => apply(event.currentTarget)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') apply(event.currentTarget);
      }}
      {...props}
    />
  );
}

type Filter<Search> = <Name extends keyof Search>(
  name: Name,
) => { readonly value: Search[Name]; readonly onChange: (value: Search[Name]) => void };

/** A filter that is stored in one member of the URL's search. */
export function filtersOf<Search extends object>(
  search: Search,
  change: (part: Partial<Search>) => void,
): Filter<Search> {
  return (name) => ({
    value: search[name],
    onChange: (value) => change({ [name]: value } as unknown as Partial<Search>),
  });
}

type DayFilter = Pick<UrlTextProps, 'onChange' | 'value'>;

interface DayFiltersProps {
  readonly filter: (name: 'since' | 'until') => DayFilter;
  readonly labels?: { readonly since: string; readonly until: string };
}

/** The first and the last day of a list, which stand in the URL. */
export function DayFilters({ filter, labels }: DayFiltersProps): ReactNode {
  const { common } = useTexts();
  return (['since', 'until'] as const).map((name) => (
    <UrlText key={name} label={(labels ?? common)[name]} type="date" {...filter(name)} />
  ));
}

interface SegmentsProps<Value extends string> {
  /** Names the choice for screen readers. */
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
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

const TYPING_MS = 250;

interface TypedText {
  readonly text: string;
  /** The stored text on which it was typed, and those of its states that are about to be stored, oldest first. */
  readonly stored: readonly string[];
}

/** The part of a typed text that counts beside the stored one: none once it is stored, or a text from elsewhere is. */
function typedOn(typed: TypedText | undefined, shown: string): TypedText | undefined {
  const place = typed?.stored.lastIndexOf(shown) ?? -1;
  if (typed === undefined || place === -1) return undefined;
  const stored = typed.stored.slice(place);
  if (typed.text === shown && stored.length === 1) return undefined;
  return place === 0 ? typed : { ...typed, stored };
}

interface TypedField {
  readonly text: string;
  readonly type: (text: string) => void;
  /** Stores at once, as when the field is left. */
  readonly send: () => void;
}

/**
 * A text that is searched for, as it is typed. The URL or the history has it soon after the last key.
 * @param shown the stored text @param store does not change from one rendering to the next
 */
export function useTyped(shown: string, store: (text: string) => void): TypedField {
  const [kept, setTyped] = useState<TypedText>();
  const typed = typedOn(kept, shown);
  if (typed !== kept) setTyped(typed);
  const text = typed?.text;
  const send = useCallback(() => {
    if (text === undefined) return;
    setTyped((old) => old && { ...old, stored: [...old.stored, text] });
    store(text);
  }, [text, store]);
  useEffect(() => {
    const timer = setTimeout(send, TYPING_MS);
    return () => clearTimeout(timer);
  }, [send]);
  const type = (entered: string) => setTyped({ text: entered, stored: typed?.stored ?? [shown] });
  return { text: text ?? shown, type, send };
}
