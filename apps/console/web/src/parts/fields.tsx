import { TextInput, type TextInputProps } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import { MIN_PASSWORD_LENGTH } from '#console-api';
import { CallError } from '../api/call';
import { type Texts, useTexts } from '../texts/texts';

/** Whether the password was right, and a code is needed as well. */
export function asksForCode(error: Error): boolean {
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
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => {
              onChange(option.value);
            }}
          />
          <span>{option.label}</span>
        </label>
      ))}
    </div>
  );
}
