export { SelfReportModule } from './self-report.module.js';
