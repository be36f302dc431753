export { ApiClient, type ApiReply, type AppKeys, type Json } from './api-client.js';
export { eventually } from './eventually.js';
export { createApplication, setSetting, signUp, type TestUser, unique, uniquePhone } from './fixtures.js';
export {
  appClient,
  freePorts,
  gatepost,
  type GatepostServer,
  masterClient,
  startServices,
  startStandalone,
  useServer,
} from './gatepost-server.js';
export { type ObservedAnswer, observedAnswers } from './observed-answers.js';
export { codeSentBy, type SentMessage, sentMessages } from './text-messages.js';
export { TcpProxy } from './tcp-proxy.js';
export { isAlive, TestProcess } from './test-process.js';
export { newDatabase, newFolder, newNamespace, testRun } from './test-run.js';
