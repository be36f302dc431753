import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { Application } from '#contracts';
import { messageOf } from '#errors';
import { Readiness } from '#observability';
import { ACCOUNTS_CONFIG, type AccountsConfig, type InitialApplication } from '../accounts.config.js';
import { ApplicationsService, type NewApplication } from './applications.service.js';

const RETRY_MS = 500;

/** Creates the configured application if the database has none, as soon as the database is available. */
@Injectable()
export class FirstApplication implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Applications');
  private isStopping = false;
  private isSettled = false;
  private lastReason = '';
  private creation: Promise<Application | undefined> = Promise.resolve(undefined);

  constructor(
    private readonly applications: ApplicationsService,
    private readonly readiness: Readiness,
    @Inject(ACCOUNTS_CONFIG) private readonly config: AccountsConfig,
  ) {}

  onApplicationBootstrap(): void {
    const { initialApplication } = this.config;
    if (initialApplication === undefined) return;
    this.readiness.register('first application', () => {
      if (!this.isSettled) throw new Error('not created yet');
    });
    this.creation = this.create(initialApplication);
  }

  /** Runs before the database connections close. */
  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.creation;
  }

  created(): Promise<Application | undefined> {
    return this.creation;
  }

  private async create({ id, appKey, masterKey }: InitialApplication): Promise<Application | undefined> {
    const wanted = { name: 'My app', id, appKey: appKey?.reveal(), masterKey: masterKey?.reveal() };
    while (!this.isStopping) {
      const application = await this.tryToCreate(wanted);
      if (this.isSettled) return application;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    return undefined;
  }

  private async tryToCreate(wanted: NewApplication): Promise<Application | undefined> {
    try {
      const application = await this.applications.createFirst(wanted);
      this.isSettled = true;
      if (application !== undefined) this.logger.log(`created the application ${application.id}`);
      return application;
    } catch (error) {
      this.logOnce(messageOf(error));
      return undefined;
    }
  }

  /** Logs each reason once, although creation is retried twice a second. */
  private logOnce(reason: string): void {
    if (reason === this.lastReason) return;
    this.lastReason = reason;
    this.logger.warn(`the first application cannot be created yet: ${reason}`);
  }
}
