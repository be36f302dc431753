import { scaleOfRun } from '#testing';
import { describeCutOffActs } from './cut-off-acts.suite.js';

describeCutOffActs(scaleOfRun('kills', 200));
