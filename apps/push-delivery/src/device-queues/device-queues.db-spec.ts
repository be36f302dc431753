import { describeQueues } from '../../test/queues.suite.js';
import { useQueueStores } from '../../test/queue-stores.js';

for (const store of useQueueStores().stores) describeQueues(store);
