import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { appClient, type GatepostServer, signUp, unique } from '#testing';

const conditionOf = (page: Page, place: number) => page.getByRole('group', { name: `Condition ${place}` });
const fieldOf = (page: Page, place: number, label: string) => conditionOf(page, place).getByLabel(label);
const press = (page: Page, button: string) => page.getByRole('button', { name: button, exact: true }).click();
const jsonOf = (page: Page) => page.getByLabel('Condition as JSON');

/** Conditions that operators build by a form. */
export function describeConditions(server: () => GatepostServer, open: (path: string) => Promise<Page>): void {
  describe('a condition', () => {
    it('by the keyboard alone is counted, and sends a push to the devices that match', async () => {
      const [channel, api] = [unique('channel'), appClient(server())];
      const devices = [
        { deviceType: 'android', channels: [channel] },
        { deviceType: 'android', channels: [channel, 'sport'] },
        { deviceType: 'ios', channels: [channel] },
        { deviceType: 'android', channels: ['sport'] },
      ];
      for (const device of devices)
        await api.post('/1.1/installations', { ...device, installationId: unique('device') });
      const page = await open('pushes/new');
      await page.getByLabel('Text').fill('Half price until Sunday');
      await page.getByRole('radio', { name: 'A condition' }).check();
      await page.locator('[data-audience]').waitFor();
      await page.getByRole('button', { name: 'Add a condition' }).press('Enter');
      await page.keyboard.type('channels');
      await page.getByText('Each condition needs a field and a value.').waitFor();
      await expect.poll(() => page.locator('[data-audience]').count()).toBe(0);
      for (const key of ['Tab', 'Tab']) await page.keyboard.press(key);
      await page.keyboard.type(channel);
      await page.locator('[data-audience="2"]').waitFor();
      await press(page, 'As JSON');
      const where = { deviceType: 'android', channels: channel };
      expect(JSON.parse(await jsonOf(page).inputValue())).toEqual(where);
      await press(page, 'As a form');
      expect(await fieldOf(page, 2, 'Comparison').locator('option:checked').textContent()).toBe('contains');
      await page.getByText(`--where '${JSON.stringify(where)}'`).waitFor();
      await press(page, 'Send to 2 devices');
      await page.getByRole('dialog').getByRole('button', { name: 'Send the push' }).click();
      await page.waitForURL(/\/pushes\/(?!new)[\w-]+$/);
      await expect.poll(() => page.locator('[data-part="targeted"]').textContent()).toBe('2');
    });

    it('on users stands in the URL, but an address in it does not, and is kept where no form can show it', async () => {
      const [api, name] = [appClient(server()), unique('level')];
      for (const level of [2, 3, 4])
        await signUp(api, { username: `${name}-${level}`, email: `${name}-${level}@example.com`, level, name });
      const page = await open('users');
      const rows = page.getByRole('table', { name: 'Users' }).getByRole('link');
      const expectLevels = (...levels: readonly number[]) =>
        expect.poll(() => rows.allTextContents()).toEqual(levels.map((level) => `${name}-${level}`));
      await press(page, 'Add a condition');
      await fieldOf(page, 1, 'Field').fill('level');
      await fieldOf(page, 1, 'Kind').selectOption('number');
      await fieldOf(page, 1, 'Comparison').selectOption('is at least');
      await fieldOf(page, 1, 'Value').fill('3');
      await press(page, 'Apply the condition');
      await expectLevels(4, 3);
      await page.reload();
      await expectLevels(4, 3);
      expect(await fieldOf(page, 1, 'Value').inputValue()).toBe('3');

      await press(page, 'Add a condition');
      await fieldOf(page, 2, 'and field').fill('email');
      await fieldOf(page, 2, 'Value').fill(`${name}-3@example.com`);
      await fieldOf(page, 2, 'Value').press('Enter');
      await expectLevels(3);
      expect(page.url()).not.toContain('where');
      await page.reload();
      await expectLevels(3);
      await fieldOf(page, 2, 'and field').fill('createdAt');
      await fieldOf(page, 2, 'Comparison').selectOption('is before');
      await fieldOf(page, 2, 'Value').fill('2020-03-01T09:00:30');
      await press(page, 'Apply the condition');
      await page.getByText('Nothing matches the filters').waitFor();
      await page.reload();
      expect(await fieldOf(page, 2, 'Value').inputValue()).toBe('2020-03-01T09:00:30');
      await press(page, 'Remove condition 2');
      await press(page, 'Apply the condition');
      await expectLevels(4, 3);

      const either = `{ "name": "${name}", "$or": [{ "level": 2 }, { "level": 4 }] }`;
      await press(page, 'As JSON');
      await jsonOf(page).fill(either);
      await page.getByText('The form cannot show this condition').waitFor();
      await press(page, 'Apply the condition');
      await expectLevels(4, 2);
      await page.reload();
      await expect.poll(() => jsonOf(page).inputValue()).toBe(either);
      expect(await page.getByRole('button', { name: 'As a form' }).isDisabled()).toBe(true);
      await page.getByRole('link', { name: 'Clear the filters' }).first().click();
      await expect.poll(() => jsonOf(page).count()).toBe(0);
    });
  });
}
