import { describeCutOffActs } from '../faults/cut-off-acts.suite.js';

describeCutOffActs(6);
