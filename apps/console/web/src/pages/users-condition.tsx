import { Button } from '@mantine/core';
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { looksPersonal } from '#console-api';
import { ConditionBuilder } from '../parts/condition-builder';
import { type Condition, conditionOf, type Fields, whereOf } from '../parts/condition.rules';
import { NoJson } from '../parts/fields';
import { orProblem } from '../parts/typed.rules';
import { keptState } from '../table/data-table';
import { useTexts } from '../texts/texts';

export const FROM = '/frame/apps/$appId/users';
const USER_FIELDS: Fields = {
  username: 'text',
  email: 'text',
  emailVerified: 'flag',
  mobilePhoneNumber: 'text',
  mobilePhoneVerified: 'flag',
  objectId: 'text',
  createdAt: 'time',
  updatedAt: 'time',
};

/** The searched text and the condition, from the URL or from the state of the tab. */
export function useSearched(): { readonly text: string; readonly where: string } {
  const { q, where } = useSearch({ from: FROM });
  const stored = useLocation({ select: ({ state }) => state });
  return { text: q ?? stored.text ?? '', where: where ?? stored.where ?? '' };
}

/** A condition is applied by its button. Where it looks like an address or a number it stands in no URL. */
export function ConditionFilter(): ReactNode {
  const t = useTexts();
  const navigate = useNavigate({ from: '/apps/$appId/users' });
  const { where: applied } = useSearched();
  const [draft, setDraft] = useState<{ readonly on: string; readonly condition: Condition }>();
  const condition = draft?.on === applied ? draft.condition : conditionOf(applied, USER_FIELDS);
  const { value: where, problem } = orProblem(() => textOf(condition));
  const apply = (event: SubmitEvent) => {
    event.preventDefault();
    if (where === undefined) return;
    const isPersonal = looksPersonal(where);
    setDraft({ on: where, condition });
    void navigate({
      search: (old) => ({ ...old, where: where === '' || isPersonal ? undefined : where, after: undefined }),
      state: ({ text }) => keptState({ text, where: isPersonal ? where : undefined }),
    });
  };
  return (
    <form onSubmit={apply} autoComplete="off">
      <ConditionBuilder
        value={condition}
        fields={USER_FIELDS}
        onChange={(changed) => setDraft({ on: applied, condition: changed })}
      >
        {(draft !== undefined || applied !== '') && (
          <Button variant="filled" type="submit">
            {t.conditions.apply}
          </Button>
        )}
      </ConditionBuilder>
      {problem !== undefined && <NoJson problem={problem} />}
    </form>
  );
}

function textOf(condition: Condition): string | undefined {
  const where = whereOf(condition);
  return where && (Object.keys(where).length === 0 ? '' : (condition.json ?? JSON.stringify(where)));
}
