import { accountsRpc, type Application, application } from '#contracts';
import { FakeTransport } from '#testing';

export const APPLICATION: Application = application.parse({
  id: 'fake-application',
  name: 'fake',
  appKey: 'fake-app-key',
  masterKey: 'fake-master-key',
  settings: {},
  createdAt: '2026-01-01T00:00:00.000Z',
});

/** Replaces the services behind the gateway. They know one application; `calledPatterns` leaves out the look-ups of applications. */
export function fakeServices(): FakeTransport {
  return new FakeTransport([accountsRpc.findApplication, accountsRpc.listApplicationIds])
    .answer(accountsRpc.findApplication, ({ appId }) => ({
      application: appId === APPLICATION.id ? APPLICATION : null,
    }))
    .answer(accountsRpc.listApplicationIds, () => ({ appIds: [APPLICATION.id] }));
}
