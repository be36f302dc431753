import { Logger } from '@nestjs/common';

// What a test expects to go wrong needs no line in the log.
Logger.overrideLogger(false);
