import { Logger } from '@nestjs/common';

// Expected failures of tests need no line in the log.
Logger.overrideLogger(false);
