import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi } from '#console-api';
import { useAct, useApp } from '../api/queries';
import { FormDialog } from '../parts/dialogs';
import { PasswordField } from '../parts/fields';
import { useTexts } from '../texts/texts';

export function NewUser(): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const create = useAct(consoleApi.createUser);
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { username: '', password: '', email: '', mobilePhoneNumber: '' },
    validate: {
      username: (value) => (value.trim() === '' ? t.access.nameWanted : null),
      password: (value) => (value === '' ? t.access.passwordWanted : null),
    },
  });
  const submit = async () => {
    const { username, password, email, mobilePhoneNumber } = form.getValues();
    const contacts = { ...(email !== '' && { email }), ...(mobilePhoneNumber !== '' && { mobilePhoneNumber }) };
    const { user } = await create.mutateAsync({ params: { appId }, body: { username, password, ...contacts } });
    await navigate({ to: '/apps/$appId/users/$userId', params: { appId, userId: user.objectId } });
  };
  return (
    <FormDialog title={t.users.create} form={form} submit={submit}>
      <TextInput label={t.users.fields.username} data-autofocus {...form.getInputProps('username')} />
      <PasswordField label={t.access.password} autoComplete="new-password" {...form.getInputProps('password')} />
      <TextInput label={t.users.fields.email} type="email" {...form.getInputProps('email')} />
      <TextInput label={t.users.fields.phone} type="tel" {...form.getInputProps('mobilePhoneNumber')} />
    </FormDialog>
  );
}
