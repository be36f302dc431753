import { TextInput, type TextInputProps } from '@mantine/core';
import type { ReactNode } from 'react';
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
