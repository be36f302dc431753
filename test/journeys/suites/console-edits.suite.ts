import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { appClient, type GatepostServer, masterClient, signUp, unique, uniquePhone } from '#testing';

type Open = (path: string) => Promise<Page>;

const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true }).click();

async function undo(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Undo' }).last().click();
  await page.getByText('The former value is back.').last().waitFor();
}

/** What operators edit, save and take back. */
export function describeEdits(server: () => GatepostServer, open: Open): void {
  describe('Undo', () => {
    it('brings an address and a number back as verified as they were', async () => {
      const master = masterClient(server());
      const contact = { email: `${unique('ada')}@example.com`, mobilePhoneNumber: uniquePhone() };
      const { id } = await signUp(appClient(server()), contact);
      const verified = { emailVerified: true, mobilePhoneVerified: true };
      await master.put(`/1.1/users/${id}`, verified);
      const page = await open(`users/${id}`);
      await page.getByLabel('E-mail', { exact: true }).fill(`${unique('other')}@example.com`);
      await page.getByLabel('Phone', { exact: true }).fill(uniquePhone());
      await save(page);
      await page.getByText('Saved.').waitFor();
      await undo(page);
      expect((await master.get(`/1.1/users/${id}`)).body).toMatchObject({ ...contact, ...verified });
    });
  });
}
