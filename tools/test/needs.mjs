// The needs of each test file besides Node and npm. A file gets the listed parts only: a file that uses another part fails.

const SERVERS = ['postgresql', 'redis', 'rabbitmq'];
const FAULTS = [...SERVERS, 'redis-server', 'rabbitmq-server'];

/**
 * The first rule whose pattern fits a file's path counts. Without its `needs` a file is left out; of what it `uses`, single suites are
 * left out, which ask `isProvided` of libs/testing.
 */
const RULES = [
  { files: /^(apps|libs)\/.*\.spec\.ts$/, needs: [] },

  { files: /^apps\/accounts\/src\/lockout\/lockout-stores\./, needs: ['postgresql'], uses: ['redis'] },
  { files: /^apps\/push-delivery\/src\/device-queues\/connector-nodes\./, needs: [], uses: ['redis'] },
  { files: /^apps\/push-delivery\/src\/device-queues\//, needs: ['postgresql'], uses: ['redis'] },
  { files: /^apps\/push-delivery\/src\/notifications\/connected-counts\./, needs: ['postgresql'], uses: ['redis'] },
  { files: /\.db-spec\.ts$/, needs: ['postgresql'] },

  { files: /^libs\/redis\/test\/redis-(cluster|sentinel)\./, needs: ['redis-server'] },
  { files: /^libs\/redis\//, needs: ['redis'] },
  { files: /^libs\/database\/test\//, needs: ['postgresql', 'rabbitmq'] },
  { files: /^libs\/messaging\/test\/rabbit-alarm\./, needs: ['rabbitmq-server'] },
  { files: /^libs\/messaging\/test\/transports\./, needs: [], uses: ['rabbitmq'] },
  { files: /^libs\/messaging\//, needs: ['rabbitmq'] },

  { files: /^apps\/cli\/test\/rescue/, needs: [] },
  { files: /^apps\/gateway\/test\/request-counters\./, needs: ['redis'] },
  { files: /^apps\/gateway\/test\/openapi\./, needs: [], uses: ['browser'] },
  { files: /^apps\/(gateway|auth-linking)\//, needs: [] },
  { files: /^apps\/mail\/test\/(smtp-channel|text-message-providers)\./, needs: [] },
  { files: /^apps\/push-delivery\/test\/(connector|connector-faults|sdk-clients)\./, needs: ['redis'] },
  { files: /^apps\/console\/test\/dead-letters\./, needs: ['postgresql', 'rabbitmq'] },
  { files: /^apps\/(console|standalone)\//, needs: ['postgresql'] },

  { files: /^test\/deployment\/kubernetes\/rendering\./, needs: ['kubectl'] },
  { files: /^test\/deployment\/kubernetes\/processes\./, needs: SERVERS },
  { files: /^(test\/deployment|tools)\//, needs: [] },

  { files: /^test\/journeys\/forwarding\./, needs: [], uses: SERVERS },
  { files: /^test\/journeys\/standalone(-smoke)?\./, needs: [], uses: ['browser'] },
  { files: /^test\/journeys\/(leaving-leancloud|standalone-life|start-failures|vendor-stand-ins)\./, needs: [] },
  {
    files:
      /^test\/journeys\/(console|console-factors|console-frame|console-objects|console-oidc|console-page|expired-links|web-push-page)\./,
    needs: ['browser'],
  },
  { files: /^test\/journeys\/(console-life|mailed-links)\./, needs: ['browser'], uses: SERVERS },
  { files: /^test\/journeys\/console-crash\./, needs: [...SERVERS, 'browser'] },
  { files: /^test\/journeys\/services\./, needs: SERVERS, uses: ['browser'] },
  { files: /^test\/journeys\/backup\./, needs: [], uses: [...SERVERS, 'postgresql-client'] },
  { files: /^test\/journeys\/lockout-life\./, needs: [], uses: [...SERVERS, 'redis-server'] },
  { files: /^test\/journeys\/redis-cluster\./, needs: ['postgresql', 'rabbitmq', 'redis', 'redis-server'] },
  { files: /^test\/journeys\/doctor\./, needs: SERVERS, uses: ['redis-server'] },
  { files: /^test\/journeys\/(broker-restart|push-faults)\./, needs: [...SERVERS, 'rabbitmq-server'] },
  { files: /^test\/journeys\/vendor-faults\./, needs: [...SERVERS, 'redis-server'] },
  {
    files: /^test\/journeys\/(emails-life|import-life|secret-rotation|text-messages|third-party-life|traces)\./,
    needs: [],
    uses: SERVERS,
  },

  { files: /^test\/hostile\/(standalone|web-push)\./, needs: [] },
  { files: /^test\/faults\/audit\./, needs: [...SERVERS, 'browser'] },
  { files: /^test\/faults\/(faults|vendors)\./, needs: FAULTS },
  { files: /^test\/faults\/alarms\./, needs: [...SERVERS, 'redis-server', 'rabbitmq-server'] },
  { files: /^test\/faults\//, needs: [] },
  { files: /./, needs: SERVERS },
];

/** @param file its path from the project's folder, with slashes */
export function needsOf(file) {
  const { needs, uses = [] } = RULES.find(({ files }) => files.test(file));
  return { needs, uses };
}

/** The patterns, for the test that holds them to the files. */
export const patterns = RULES.map(({ files }) => files);
