export { ApiClient, type ApiReply, type AppKeys, type Json } from './api-client.js';
export { accessibilityProblems, useBrowser, Visit } from './browser.js';
export { eventually } from './eventually.js';
export { FakeTransport } from './fake-transport.js';
export { countUsers, createApplication, setSetting, signUp, type TestUser, unique, uniquePhone } from './fixtures.js';
export {
  appClient,
  freePorts,
  type GatepostServer,
  hashedPasswords,
  masterClient,
  startServices,
  startStandalone,
  useServer,
} from './gatepost-server.js';
export { LeanCloudServer } from './leancloud/leancloud-server.js';
export { archiveOf, leanCloudHash } from './leancloud/leancloud-store.js';
export { firstMailTo, linkSentBy, mailSentBy, mailsTo } from './mails.js';
export { type ObservedAnswer, observedAnswers } from './observed-answers.js';
export { type CommandOutcome, gatepost, gatepostProcess, gatepostReading } from './operator-commands.js';
export { OidcIssuer } from './oidc-issuer.js';
export { newSigningKey, PlatformServer, usePlatforms } from './platform-server.js';
export { PrivateRabbit, type Shortage } from './private-rabbit.js';
export { queryPlan } from './query-plan.js';
export { linkIn, type MailedLink, type ReceivedMail } from './received-mail.js';
export { RedisGroup } from './redis-group.js';
export { selfSignedCertificate } from './self-signed-certificate.js';
export { SmtpSink, type SmtpSinkOptions, useSmtpSink } from './smtp-sink.js';
export { storedRows } from './stored-rows.js';
export { codeSentBy, type SentMessage, sentMessages } from './text-messages.js';
export { TcpProxy } from './tcp-proxy.js';
export { type CollectedSpan, useTraceCollector } from './trace-collector.js';
export { appleToken } from './vendors/apns-service.js';
export { useVendors } from './vendors/use-vendors.js';
export type { VendorServices } from './vendors/vendor-services.js';
export { isAlive, TestProcess } from './test-process.js';
export {
  contractedEvents,
  contractedRpcs,
  NO_DATABASE_URL,
  serveOver,
  START_TIMEOUT_MS,
  TestService,
} from './test-service.js';
export {
  isProvided,
  kubectlProgram,
  newDatabase,
  newFolder,
  newNamespace,
  type Part,
  scaleOfRun,
  SERVERS,
  testRun,
} from './test-run.js';
