import { describe, expect, it } from 'vitest';
import { ApiClient, eventually, type GatepostServer } from '#testing';

/** `GET /v1/route`, by which devices find out where to connect. */
export function describePushRouter(server: () => GatepostServer): void {
  describe('where devices connect', () => {
    const ask = (query: string) => new ApiClient(server().baseUrls[0] ?? '', {}).get(`/v1/route${query}`);

    it('is available without a key', async () => {
      const { body } = await eventually(async () => {
        const reply = await ask(`?appId=${server().app.id}&installationId=someone&secure=1`);
        expect(reply.status).toBe(200);
        return reply;
      });
      expect(body['server']).toMatch(/^ws:\/\/localhost:\d+\/push$/);
      expect(body['secondary']).toMatch(/^ws:\/\/localhost:\d+\/push$/);
      expect(body).toMatchObject({ ttl: expect.any(Number) as number, groupId: 'gatepost' });
    });

    it('is refused where the application is missing or unknown', async () => {
      expect(await ask('')).toMatchObject({ status: 400, body: { code: 113 } });
      const strange = ['unknown', '%00', '__proto__', "'", 'a'.repeat(1_000)];
      for (const id of strange) expect(await ask(`?appId=${id}`)).toMatchObject({ status: 404, body: { code: 101 } });
    });
  });
}
