import { useMemo } from 'react';
import type { ListedUser } from '#console-api';
import { useApp } from '../api/queries';
import { Checked, LockedBadge } from '../parts/states';
import { type Column, RowLink } from '../table/data-table';
import { When } from '../texts/format';
import { type Texts, useTexts } from '../texts/texts';

/** The columns of the list of users. They stay the same objects, so that rows are not drawn again. */
export function useUserColumns(): readonly Column<ListedUser>[] {
  const t = useTexts();
  const { appId } = useApp();
  return useMemo(() => columnsOf(t, appId), [t, appId]);
}

function columnsOf(t: Texts, appId: string): readonly Column<ListedUser>[] {
  return [
    {
      header: t.users.fields.username,
      cell: ({ objectId, username }) => (
        <RowLink to={`/apps/${appId}/users/${encodeURIComponent(objectId)}`}>{username ?? objectId}</RowLink>
      ),
    },
    {
      header: t.users.fields.email,
      cell: ({ email, emailVerified }) => <Checked value={email} isVerified={emailVerified} />,
    },
    {
      header: t.users.fields.phone,
      from: 'md',
      cell: ({ mobilePhoneNumber, mobilePhoneVerified }) => (
        <Checked isNumber value={mobilePhoneNumber} isVerified={mobilePhoneVerified} />
      ),
    },
    {
      header: t.users.linked,
      from: 'lg',
      cell: ({ platforms }) => (platforms.length === 0 ? '–' : platforms.join(', ')),
    },
    { header: t.users.state, from: 'sm', cell: ({ lockedUntil }) => <LockedBadge until={lockedUntil} /> },
    { header: t.users.createdAt, from: 'sm', cell: ({ createdAt }) => <When at={createdAt} /> },
  ];
}
