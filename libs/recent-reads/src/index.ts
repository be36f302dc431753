export { RecentReads } from './recent-reads.js';
